// Sends requests, one at a time to each caller, and waits where the server asks for it.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Json, Operation } from './document.ts'
import { encoded } from './forms.ts'

/** What a request says beside its method and path. */
export interface Parts {
  path: Record<string, string>
  query: Record<string, string>
  headers: Record<string, string>
  body?: Json
  /** The media type of `body`. */
  type?: string
  /** The body as it is, instead of `body`. */
  raw?: Buffer
  /** Another method than the operation's. */
  method?: string
}

export interface Answer {
  operation: Operation
  parts: Parts
  key: string | null
  method: string
  url: string
  status: number
  headers: Headers
  /** Of a stream, how it begins. */
  text: string
  /** Parsed where it says that it is JSON, and is; undefined where not. */
  body: Json
}

/** The server cannot be reached, or does not answer in time. */
export class Unreachable extends Error {}

export interface Sender {
  /** Throws Unreachable. */
  send(operation: Operation, parts: Parts, key: string | null): Promise<Answer>
  /** How many requests were sent, and how often and how many seconds the server's rate limits made them wait. */
  counts: { requests: number; waits: number; waited: number }
}

const longestWait = 120
const answerWithin = 60_000
const streamFor = 1500

export function createSender(
  base: string,
  { onAnswer = () => {} }: { onAnswer?: (answer: Answer) => void } = {},
): Sender {
  const counts = { requests: 0, waits: 0, waited: 0 }
  const send: Sender['send'] = async (operation, parts, key) => {
    const url = `${base}${addressOf(operation, parts)}`
    const { headers, bytes } = messageOf(parts, key)
    const method = parts.method ?? operation.method
    for (let attempt = 1; ; attempt++) {
      counts.requests++
      const answer = {
        operation,
        parts,
        key,
        method,
        url,
        ...(await fetched(url, { method, headers, body: bytes })),
      }
      const wait = Number(answer.headers.get('retry-after'))
      if (answer.status !== 429 || attempt > 5 || !(wait <= longestWait)) {
        onAnswer(answer)
        return answer
      }
      const seconds = Math.max(wait, 1)
      counts.waits++
      counts.waited += seconds
      await sleep(seconds * 1000)
    }
  }
  return { send, counts }
}

export function addressOf({ path }: Operation, parts: Parts): string {
  const filled = path.replace(/\{([^}]+)\}/g, (_, name) => encodeURIComponent(parts.path[name] ?? ''))
  const query = new URLSearchParams(parts.query).toString()
  return query === '' ? filled : `${filled}?${query}`
}

function messageOf(
  parts: Parts,
  key: string | null,
): { headers: Record<string, string>; bytes: Buffer | undefined } {
  const headers: Record<string, string> = { ...(key !== null && { authorization: `Bearer ${key}` }) }
  let bytes = parts.raw
  if (parts.raw !== undefined && parts.type !== undefined) headers['content-type'] = parts.type
  if (parts.raw === undefined && parts.body !== undefined) {
    const body = encoded(parts.type ?? 'application/json', parts.body)
    headers['content-type'] = body.contentType
    bytes = body.bytes
  }
  return { headers: { ...headers, ...parts.headers }, bytes }
}

async function fetched(
  url: string,
  { method, headers, body }: { method: string; headers: Record<string, string>; body: Buffer | undefined },
): Promise<{ status: number; headers: Headers; text: string; body: Json }> {
  try {
    const response = await fetch(url, {
      method,
      headers,
      body: body === undefined ? undefined : new Uint8Array(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(answerWithin),
    })
    const type = response.headers.get('content-type') ?? ''
    const text = type.startsWith('text/event-stream') ? await beginningOf(response) : await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: /^application\/json\b/.test(type) ? parsed(text) : undefined,
    }
  } catch (error) {
    const { cause, message } = error as Error
    throw new Unreachable(`${method} ${url}: ${(cause as Error | undefined)?.message ?? message}`, {
      cause: error,
    })
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What a stream says in its first moments; then it is left, unless it ends before. */
async function beginningOf(response: Response): Promise<string> {
  if (response.body === null) return ''
  const reader = response.body.getReader()
  const timer = setTimeout(() => {
    void reader.cancel()
  }, streamFor)
  let text = ''
  const decoder = new TextDecoder()
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value, { stream: true })
    if (text.length > 10_000) await reader.cancel()
  }
  clearTimeout(timer)
  return text
}
