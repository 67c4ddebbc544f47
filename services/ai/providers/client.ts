// The official client, held to our settings: nothing of its own environment variables, no redirects, no tries of its own,
// and no answer that fills the memory. An aborted request ends its connection.
import OpenAI from 'openai'
import { Agent, fetch as undiciFetch, Response as UndiciResponse } from 'undici'
import type { ProviderSettings } from '../../../infra/config/ai-providers.ts'

/** Bytes of an answer that says what is wrong; it is read only to tell what kind of error it is. */
const errorLimit = 64 * 1024
/** Bytes of one server-sent event. */
const eventLimit = 1024 * 1024
/** Bytes of a whole answer. */
const bodyLimit = 256 * 1024 * 1024
/** Milliseconds in which a connection must be made. */
const connectTimeout = 10_000
/** Milliseconds after which the next address of a name is tried. */
const attemptTimeout = 1_000

/** What a request may have of headers: the client adds others from the environment, and such that describe this machine. */
const sentHeaders = ['accept', 'content-type', 'authorization', 'user-agent', 'x-client-request-id']

/** An answer that is larger than any that is honest. */
export class TooLarge extends Error {}

/** Connections to all upstreams, one for each request under way. */
export function openAgent(): Agent {
  return new Agent({
    allowH2: false,
    // The time an answer takes is bounded by who asks.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: connectTimeout, autoSelectFamilyAttemptTimeout: attemptTimeout },
  })
}

export function createClient({ baseUrl, apiKey }: ProviderSettings, agent: Agent, timeout: number): OpenAI {
  return new OpenAI({
    baseURL: baseUrl,
    // It insists on one.
    apiKey: apiKey ?? 'none',
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    timeout,
    logLevel: 'off',
    fetch: async (url, init) => {
      const { body, signal } = init!
      const all = new Headers(init!.headers)
      const headers: Record<string, string> = { 'accept-encoding': 'identity' }
      for (const name of sentHeaders) {
        const value = all.get(name)
        if (value !== null) headers[name] = value
      }
      delete headers.authorization
      if (apiKey !== null) headers.authorization = `Bearer ${apiKey}`
      const response = await undiciFetch(url as string, {
        method: 'POST',
        body: body as string,
        headers,
        signal,
        dispatcher: agent,
        redirect: 'manual',
      })
      return (await (response.ok ? bounded(response) : readFailure(response))) as unknown as Response
    },
  })
}

/** A failure with as much of its body as is needed, in the one form that the client understands. */
async function readFailure(response: UndiciResponse): Promise<UndiciResponse> {
  let text = ''
  if (response.body !== null) {
    const decoder = new TextDecoder()
    for await (const chunk of response.body) {
      text += decoder.decode(chunk, { stream: true })
      if (text.length > errorLimit) break
    }
  }
  const body = JSON.stringify({ error: errorOf(text.slice(0, errorLimit)) })
  return new UndiciResponse(body, {
    status: response.status,
    headers: {
      ...chosen(response, ['retry-after', 'retry-after-ms', 'x-request-id']),
      'content-type': 'application/json',
    },
  })
}

/** Servers put it into `error`, as an object or a text, or answer with the object or a text itself. */
function errorOf(text: string): object {
  try {
    const body = JSON.parse(text)
    if (typeof body?.error === 'object' && body.error !== null) return body.error
    if (typeof body?.message === 'string') return body
  } catch {}
  return { message: text }
}

function chosen(response: UndiciResponse, names: string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = response.headers.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )
}

function bounded(response: UndiciResponse): UndiciResponse {
  if (response.body === null) return response
  const reader = response.body.getReader()
  const check = response.headers.get('content-type')?.startsWith('text/event-stream')
    ? eventCounter()
    : () => {}
  let bytes = 0
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        try {
          bytes += value.length
          if (bytes > bodyLimit) throw new TooLarge('An answer is too large.')
          check(value)
        } catch (error) {
          void reader.cancel().catch(() => {})
          throw error
        }
        controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return new UndiciResponse(body as never, {
    status: response.status,
    headers: chosen(response, ['content-type', 'x-request-id']),
  })
}

/** Throws when there are too many bytes without the empty line that ends an event. */
function eventCounter(): (bytes: Uint8Array) => void {
  let event = 0
  let line = 0
  let previous = 0
  return (bytes) => {
    for (const byte of bytes) {
      event++
      if (byte === 10 && previous === 13) {
        // The second half of one line's end.
      } else if (byte === 10 || byte === 13) {
        if (line === 0) event = 0
        line = 0
      } else {
        line++
      }
      previous = byte
    }
    if (event > eventLimit) throw new TooLarge('An event is too large.')
  }
}
