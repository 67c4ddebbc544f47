// HTTP client of the tests. It asserts that every answer matches the published contract.
import { errorCodes } from '../../../generated/error-codes.ts'
import { replies } from '../../../infra/validation/replies.ts'
import { operations, type OperationId } from '../../../generated/operations.ts'
import type { components } from '../../../generated/types.ts'
import type { Readable } from 'node:stream'
import { type Dispatcher, request } from 'undici'
import { methodsOf } from '../../../infra/contract/operations-by-path.ts'
import { patternOf } from '../../../infra/validation/path-template.ts'
import { headersOf, isEndless } from '../contract/contract-schema.ts'
import { headerProblem } from './header-values.ts'

export interface Reply {
  status: number
  headers: Headers
  body: any
  text: string
  /** The undecoded body. */
  bytes: Buffer
  operation: OperationId | null
}

export interface CallOptions {
  body?: unknown
  headers?: Record<string, string>
  /** Sends these bytes in place of a JSON body. */
  raw?: string | Uint8Array<ArrayBuffer>
}

/** Every operation and status that was asserted against the spec so far, such as `getProject 200`. */
export const coveredResponses = new Set<string>()

// Paths without parameters come first, because a path with parameters may match the same URL.
const table = Object.values(operations)
  .map((info) => ({ info, pattern: patternOf(info.path) }))
  .sort((a, b) => Number(a.info.path.includes('{')) - Number(b.info.path.includes('{')))

/** The operation of a method and path, or null. */
export function operationAt(method: string, path: string): OperationId | null {
  const plain = path.split('?')[0]
  const found = table.find(({ info, pattern }) => methodsOf(info).includes(method) && pattern.test(plain))
  return found === undefined ? null : (found.info.id as OperationId)
}

/** Asserts that the spec declares this answer. @throws when it does not. */
export function assertMatchesSpec(id: OperationId, status: number, headers: Headers, body: unknown): void {
  const declared = operations[id].replies[status]
  if (declared === undefined)
    throw new Error(`${id} answered ${status}, which the spec does not declare: ${JSON.stringify(body)}`)
  const type = headers.get('content-type')
  if (declared.binary === true) {
    if (type === null) throw new Error(`${id} ${status} has no Content-Type`)
    if (headers.get('content-length') === null) throw new Error(`${id} ${status} has no Content-Length`)
  } else if (declared.contentType === null) {
    if (body !== undefined && body !== '')
      throw new Error(`${id} ${status} has a body, which the spec does not declare`)
  } else {
    if (type?.split(';')[0] !== declared.contentType)
      throw new Error(`${id} ${status} is ${type}, the spec declares ${declared.contentType}`)
    if (declared.serializer !== undefined) {
      const validate = replies[declared.serializer]
      if (!validate(body))
        throw new Error(
          `${id} ${status} does not match the spec: ` +
            `${JSON.stringify(validate.errors)} in ${JSON.stringify(body)}`,
        )
    }
  }
  if (headers.get('x-content-type-options') !== 'nosniff')
    throw new Error(`${id} ${status} has no X-Content-Type-Options`)
  const fields = declaredHeaders(id, status)
  for (const name of impliedHeaders)
    if (headers.get(name) !== null && !fields.some((field) => field.name === name))
      throw new Error(`${id} ${status} has ${name}, which the spec does not declare`)
  for (const { name, required, schema } of fields) {
    const value = headers.get(name)
    // A request that fails with a server error may fail before it is counted.
    const counts = name.startsWith('RateLimit') && status < 500
    if (value === null && !required && !counts) continue
    if (value === null) throw new Error(`${id} ${status} has no ${name}`)
    if (schema.const !== undefined && value !== schema.const)
      throw new Error(`${id} ${status} has ${name}: ${value}, the spec declares ${schema.const}`)
    const wrong = headerProblem(schema, value)
    if (wrong !== null) throw new Error(`${id} ${status} has ${name}: ${value}, which ${wrong}`)
  }
  if (operations[id].etag && status < 300 && headers.get('etag') === null)
    throw new Error(`${id} ${status} has no ETag`)
  if (operations[id].paged && status === 200 && headers.get('link') === null)
    throw new Error(`${id} ${status} has no Link`)
  if (
    status >= 400 &&
    headers.get('cache-control') !== 'no-store' &&
    declared.contentType === 'application/json' &&
    id !== 'getReadiness'
  )
    throw new Error(`${id} ${status} could be cached`)
  if (status >= 400 && declared.contentType === 'application/json' && id !== 'getReadiness')
    assertErrorMatchesSpec(`${id} ${status}`, status, headers, body as ErrorBody)
  coveredResponses.add(`${id} ${status}`)
}

type ErrorBody = components['schemas']['ErrorResponse']

/** Asserts what depends on the code of an error: its limit, its state, and whether to send it again. */
function assertErrorMatchesSpec(name: string, status: number, headers: Headers, { error }: ErrorBody): void {
  const { code, details } = error
  const { limits, retry } = errorCodes[code] as { limits: readonly string[]; retry: string }
  const isOverLimit = status === 429 || limits.includes(details.constraint ?? '')
  if (isOverLimit !== (details.limit !== undefined) || isOverLimit !== (details.reason === 'limit_reached'))
    throw new Error(
      `${name} is over a limit and has no details.limit, or the reverse: ${JSON.stringify(error)}`,
    )
  if ((code === 'INVALID_STATE') !== (details.state !== undefined))
    throw new Error(`${name} has no details.state, or should have none: ${JSON.stringify(error)}`)
  const isFinal = retry !== 'later' && details.constraint !== 'in_progress'
  if (isFinal !== (headers.get('x-should-retry') === 'false'))
    throw new Error(`${name} has X-Should-Retry: ${headers.get('x-should-retry')}`)
  if (status === 409 && isFinal === headers.has('retry-after'))
    throw new Error(`${name} has Retry-After: ${headers.get('retry-after')}`)
}

const impliedHeaders = [
  'X-Request-ID',
  'X-Should-Retry',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Idempotent-Replayed',
]
const found = new Map<string, ReturnType<typeof headersOf>>()

function declaredHeaders(id: OperationId, status: number): ReturnType<typeof headersOf> {
  const name = `${id} ${status}`
  if (!found.has(name)) found.set(name, headersOf(id, status))
  return found.get(name)!
}

const system = /^\/(healthz|readyz|openapi\.(json|yaml)|docs|metrics|v1)/
const pages = /^\/(pay\/|sign-(in|up)|account|invitations\/|portal|upload\/)/

/** Prefixes /v1, except for paths outside of it. */
export function fullPath(path: string): string {
  return system.test(path) || pages.test(path) ? path : `/v1${path}`
}

export type Client = ReturnType<typeof createClient>

export function createClient(url: string, key: string | null) {
  async function call(
    method: string,
    path: string,
    { body, raw, headers = {} }: CallOptions = {},
  ): Promise<Reply> {
    // A Location is the whole URL.
    const full = fullPath(path.startsWith(url) ? path.slice(url.length) : path)
    const sent: Record<string, string> = { ...headers }
    if (key !== null && sent.authorization === undefined) sent.authorization = `Bearer ${key}`
    if (body !== undefined && sent['content-type'] === undefined) sent['content-type'] = 'application/json'
    const response = await request(url + full, {
      method: method as Dispatcher.HttpMethod,
      headers: sent,
      body: raw ?? (body === undefined ? undefined : JSON.stringify(body)),
    })
    const { statusCode: status } = response
    const responseHeaders = headersFrom(response.headers)
    const type = responseHeaders.get('content-type')
    const operation = operationAt(method, full)
    const bytes =
      operation !== null && type?.startsWith('text/event-stream') === true && isEndless(operation)
        ? await firstChunkOf(response.body)
        : Buffer.from(await response.body.bytes())
    const text = new TextDecoder().decode(bytes)
    const binary = operation !== null && operations[operation].replies[status]?.binary === true
    const isJson = type?.startsWith('application/json') === true && !binary
    const parsed = text === '' ? undefined : isJson ? JSON.parse(text) : text
    if (operation !== null) assertMatchesSpec(operation, status, responseHeaders, parsed)
    return { status, headers: responseHeaders, body: parsed, text, bytes, operation }
  }
  return {
    call,
    get: (path: string, init?: CallOptions) => call('GET', path, init),
    post: (path: string, body?: unknown, init: CallOptions = {}) => call('POST', path, { body, ...init }),
    put: (path: string, body?: unknown, init: CallOptions = {}) => call('PUT', path, { body, ...init }),
    delete: (path: string, init?: CallOptions) => call('DELETE', path, init),
  }
}

function headersFrom(received: Record<string, string | string[] | undefined>): Headers {
  const headers = new Headers()
  for (const [name, values] of Object.entries(received))
    for (const value of [values ?? []].flat()) headers.append(name, value)
  return headers
}

/** Reads the first chunk of a stream that never ends, then closes the stream. */
async function firstChunkOf(body: Readable): Promise<Buffer> {
  for await (const chunk of body) return chunk as Buffer
  return Buffer.alloc(0)
}
