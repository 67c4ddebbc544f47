// The official OpenAI client, restricted to our settings: it ignores its environment variables, follows no
// redirects, does not retry, and limits the size of an answer. Aborting a request closes its connection.
import OpenAI from 'openai'
import { Agent, fetch as undiciFetch, Response as UndiciResponse } from 'undici'
import { inCallSpan } from '../../../infra/telemetry/spans.ts'
import type { ProviderSettings } from '../../../infra/config/ai-providers.ts'

/** Bytes of an error response. It is read only to classify the error. */
const maxErrorBytes = 64 * 1024
/** Bytes of an answer. */
export const maxBodyBytes = 256 * 1024 * 1024
/** Milliseconds to connect. */
const connectTimeout = 10_000
/** Milliseconds after which the next IP address of the host is tried. */
const attemptTimeout = 1_000

/** The request headers that are sent. The client adds others from the environment and about this machine. */
const allowedHeaders = ['accept', 'content-type', 'authorization', 'user-agent', 'x-client-request-id']

/** A response is larger than any legitimate response. */
export class ResponseTooLarge extends Error {}

/** The connections to all providers, one for each request in progress. */
export function openAgent(): Agent {
  return new Agent({
    allowH2: false,
    // deadlines.ts limits the time of an answer.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: connectTimeout, autoSelectFamilyAttemptTimeout: attemptTimeout },
  })
}

export function createClient({ baseUrl, apiKey }: ProviderSettings, agent: Agent, timeout: number): OpenAI {
  return new OpenAI({
    baseURL: baseUrl,
    // The client requires a key.
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
      for (const name of allowedHeaders) {
        const value = all.get(name)
        if (value !== null) headers[name] = value
      }
      delete headers.authorization
      if (apiKey !== null) headers.authorization = `Bearer ${apiKey}`
      const response = await inCallSpan('POST', url as string, (trace) =>
        undiciFetch(url as string, {
          method: 'POST',
          body: body as string,
          headers: { ...headers, ...trace },
          signal,
          dispatcher: agent,
          redirect: 'manual',
        }),
      )
      if (!response.ok) return (await readErrorResponse(response)) as unknown as Response
      // event-reader.ts limits a stream.
      return (isEventStream(response) ? response : limitSize(response)) as unknown as Response
    },
  })
}

/** Converts an error response of a provider into the format that the client understands. */
async function readErrorResponse(response: UndiciResponse): Promise<UndiciResponse> {
  let text = ''
  if (response.body !== null) {
    const decoder = new TextDecoder()
    for await (const chunk of response.body) {
      text += decoder.decode(chunk, { stream: true })
      if (text.length > maxErrorBytes) break
    }
  }
  const body = JSON.stringify({ error: errorOf(text.slice(0, maxErrorBytes)) })
  return new UndiciResponse(body, {
    status: response.status,
    headers: {
      ...pickHeaders(response, ['retry-after', 'retry-after-ms', 'x-request-id']),
      'content-type': 'application/json',
    },
  })
}

/** Providers send `{ error: {…} }`, `{ error: "text" }`, the error object itself, or plain text. */
function errorOf(text: string): object {
  try {
    const body = JSON.parse(text)
    if (typeof body?.error === 'object' && body.error !== null) return body.error
    if (typeof body?.message === 'string') return body
  } catch {}
  return { message: text }
}

function pickHeaders(response: UndiciResponse, names: string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = response.headers.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )
}

function isEventStream({ headers }: UndiciResponse): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') === true
}

/** Fails the body of the response once it is too large. */
function limitSize(response: UndiciResponse): UndiciResponse {
  if (response.body === null) return response
  const reader = response.body.getReader()
  let bytes = 0
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        bytes += value.length
        if (bytes > maxBodyBytes) {
          void reader.cancel().catch(() => {})
          throw new ResponseTooLarge('The response is too large.')
        }
        controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return new UndiciResponse(body as never, {
    status: response.status,
    headers: pickHeaders(response, ['content-type', 'x-request-id']),
  })
}
