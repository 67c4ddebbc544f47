// Sends the requests of a run and waits as Retry-After says.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  encodingOf,
  isJson,
  type Credential,
  type Json,
  type Operation,
  type Parameter,
} from '@platform-api/openapi/document.ts'
import { hasItems } from '@platform-api/openapi/media-types.ts'
import { writeParameter, type ParameterStyle } from '@platform-api/openapi/parameters.ts'
import { encodeBody } from './forms.ts'

/** A request without its operation and key. */
export interface RequestParts {
  /** Values by parameter, written in the parameter's style. */
  path: Record<string, Json>
  query: Record<string, Json>
  cookies?: Record<string, Json>
  headers: Record<string, string>
  body?: Json
  /** The media type of `body`. */
  type?: string
  /** Raw bytes, instead of `body`. */
  raw?: Buffer
  /** Replaces the operation's method. */
  method?: string
  /** Whether required parameters that are not here are left out. */
  isExact?: boolean
}

export interface Answer {
  operation: Operation
  parts: RequestParts
  key: string | null
  method: string
  url: string
  status: number
  headers: Headers
  /** For a stream, only its start. */
  text: string
  /** The parsed JSON; undefined for other media types and invalid JSON. */
  body: Json
}

/** A request as it was sent. */
export type SentRequest = Pick<Answer, 'operation' | 'parts' | 'key' | 'method' | 'url'>

/** The server cannot be reached. */
export class ServerUnreachable extends Error {}

/** The server cut the connection of a request or did not respond in time, and still accepts others. */
export class NoResponse extends Error {
  readonly request: SentRequest

  constructor(message: string, request: SentRequest) {
    super(message)
    this.request = request
  }
}

export interface Sender {
  /** @throws NoResponse, or ServerUnreachable. */
  send(operation: Operation, parts: RequestParts, key: string | null): Promise<Answer>
}

/** `waits` and `waited`: how often, and how many seconds, the server's rate limits delayed requests. */
export interface RequestCounts {
  requests: number
  waits: number
  waited: number
}

const maxWaitSeconds = 120
const timeoutMs = 60_000
const streamReadMs = 1500

/** @param signal ends the waiting for rate limits; the request then fails. */
export function createSender(
  base: string,
  {
    counts,
    signal,
    onAnswer = () => {},
  }: { counts: RequestCounts; signal?: AbortSignal; onAnswer?: (answer: Answer) => void },
): Sender {
  const send: Sender['send'] = async (operation, parts, key) => {
    const url = `${base}${requestTarget(operation, parts, key)}`
    const { headers, bytes } = encodeRequest(operation, parts, key)
    const method = parts.method ?? operation.method
    for (let attempt = 1; ; attempt++) {
      counts.requests++
      const request = { operation, parts, key, method, url }
      const answer = { ...request, ...(await fetchResponse(base, request, headers, bytes)) }
      const wait = Number(answer.headers.get('retry-after'))
      if (answer.status !== 429 || attempt > 5 || !(wait <= maxWaitSeconds)) {
        onAnswer(answer)
        return answer
      }
      const seconds = Math.max(wait, 1)
      counts.waits++
      counts.waited += seconds
      await sleep(seconds * 1000, undefined, { signal })
    }
  }
  return { send }
}

export function requestTarget(
  { path, parameters, credentials }: Operation,
  parts: Pick<RequestParts, 'path' | 'query'>,
  key: string | null = null,
): string {
  const declared = (where: Parameter['in'], name: string): Parameter | undefined =>
    parameters.find((each) => each.in === where && each.name === name)
  const written = (where: 'path' | 'query', name: string, value: Json): string => {
    const parameter = declared(where, name) ?? plainParameter(where, name)
    return writeParameter(parameter, value)
  }
  const filled = path.replace(/\{([^}]+)\}/g, (_, name) => written('path', name, parts.path[name] ?? ''))
  const keys = key === null ? [] : credentials.filter((each) => each.in === 'query')
  const query = [
    ...Object.entries(parts.query).map(([name, value]) => written('query', name, value)),
    ...keys.map(({ name }) => writeParameter(plainParameter('query', name), key)),
  ].filter((text) => text !== '')
  // Some documents have paths with a query: `/items?beta=true`.
  return query.length === 0 ? filled : `${filled}${filled.includes('?') ? '&' : '?'}${query.join('&')}`
}

/** A parameter that the document does not declare. */
function plainParameter(where: 'path' | 'query', name: string): ParameterStyle {
  const style = where === 'path' ? 'simple' : 'form'
  return { in: where, name, style, explode: true, kind: 'primitive' }
}

/** The header field with which the credential sends the key. */
export function keyHeader({ in: where, name, scheme }: Credential, key: string): [string, string] | null {
  if (where === 'query') return null
  if (where === 'cookie') return ['Cookie', `${name}=${key}`]
  if (scheme === 'plain') return [name, key]
  return [name, scheme === 'bearer' ? `Bearer ${key}` : `Basic ${Buffer.from(key).toString('base64')}`]
}

/** The text with `$KEY` in place of the key of a query. */
export function withoutKey(text: string, key: string | null): string {
  return key === null ? text : text.replaceAll(writeParameter(plainParameter('path', 'key'), key), '$KEY')
}

function encodeRequest(
  operation: Operation,
  parts: RequestParts,
  key: string | null,
): { headers: Record<string, string>; bytes: Buffer | undefined } {
  const headers: Record<string, string> = {}
  for (const credential of key === null ? [] : operation.credentials) {
    const [name, value] = keyHeader(credential, key!) ?? []
    if (name === undefined) continue
    headers[name] = name === 'Cookie' && name in headers ? `${headers[name]}; ${value}` : value!
  }
  let bytes = parts.raw
  if (parts.raw !== undefined && parts.type !== undefined) headers['content-type'] = parts.type
  if (parts.raw === undefined && parts.body !== undefined) {
    const { type = 'application/json' } = parts
    const body = encodeBody(type, parts.body, encodingOf(operation, type))
    headers['content-type'] = body.contentType
    bytes = body.bytes
  }
  const cookies = operation.parameters
    .filter(({ in: where, name }) => where === 'cookie' && parts.cookies?.[name] !== undefined)
    .map((each) => writeParameter(each, parts.cookies![each.name]))
  if (cookies.length > 0) headers.Cookie = [headers.Cookie ?? [], cookies].flat().join('; ')
  return { headers: { ...headers, ...parts.headers }, bytes }
}

async function fetchResponse(
  base: string,
  request: SentRequest,
  headers: Record<string, string>,
  body: Buffer | undefined,
): Promise<{ status: number; headers: Headers; text: string; body: Json }> {
  const { method, url, key } = request
  try {
    const response = await fetch(url, {
      method,
      headers,
      body: body === undefined ? undefined : new Uint8Array(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    })
    const type = response.headers.get('content-type') ?? ''
    const text = hasItems(type) ? await streamStart(response) : await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson(type) ? parseJson(text) : undefined,
    }
  } catch (error) {
    const { cause, message } = error as Error
    const text = withoutKey(`${method} ${url}: ${(cause as Error | undefined)?.message || message}`, key)
    if (await isReachable(base)) throw new NoResponse(text, request)
    throw new ServerUnreachable(text, { cause: error })
  }
}

async function isReachable(base: string): Promise<boolean> {
  return await fetch(base, { method: 'HEAD', redirect: 'manual', signal: AbortSignal.timeout(10_000) }).then(
    () => true,
    () => false,
  )
}

function parseJson(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Reads the first `streamReadMs` of a stream. */
async function streamStart(response: Response): Promise<string> {
  if (response.body === null) return ''
  const reader = response.body.getReader()
  // Cancelling a stream that was cut fails; its reader has the error already.
  const cancel = (): void => void reader.cancel().catch(() => {})
  const timer = setTimeout(cancel, streamReadMs)
  let text = ''
  const decoder = new TextDecoder()
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += decoder.decode(part.value, { stream: true })
      if (text.length > 10_000) cancel()
    }
  } finally {
    clearTimeout(timer)
  }
  return text
}
