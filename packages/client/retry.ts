// Retries after network errors and temporary failures, if a second attempt has no second effect: GET, HEAD,
// OPTIONS, PUT, DELETE, and any request with an Idempotency-Key. A body that can be read only once is not
// retried.
import { backOff, type Clock } from './clock.ts'
import { ConnectionError, secondsToWait } from './error.ts'

export type Transport = (request: Request) => Promise<Response>

export interface RetryOptions {
  transport: Transport
  /** The maximum number of retries. */
  retries: number
  /** No retry starts after this time, in milliseconds since 1970. */
  until: number
  clock: Clock
  /** Whether to read the whole body, so that a connection lost in between is retried. */
  readBody: boolean
}

type Input = string | URL | Request

/** A request that keeps its constructor arguments, to create a new request for each attempt. */
export class RepeatableRequest extends Request {
  #input: Input
  #init: RequestInit | undefined

  constructor(input: Input, init?: RequestInit) {
    super(input, init)
    this.#input = input
    this.#init = init
  }

  /** A copy with the current headers; null if the body is a stream, which can be sent only once. */
  copy(): Request | null {
    const isStream = typeof this.#input === 'object' && 'body' in this.#input && this.#input.body !== null
    if (isStream || this.#init?.body instanceof ReadableStream) return null
    const headers = new Headers(this.headers)
    // Each encoding of a form has a new boundary, and so a new Content-Type.
    if (this.#init?.body instanceof FormData) headers.delete('content-type')
    return new Request(this.#input, { ...this.#init, headers })
  }
}

/** The server has not executed the request. */
const notExecuted = new Set([408, 429, 503])
/** A proxy does not know whether the server has executed the request. */
const maybeExecuted = new Set([502, 504])
/** The client does not wait longer than this for Retry-After. */
const maxWaitSeconds = 120

/**
 * @throws ConnectionError if the last attempt has no response; the signal's reason if the request is aborted.
 */
export async function sendWithRetries(request: Request, options: RetryOptions): Promise<Response> {
  const { clock, retries, until, transport, readBody } = options
  for (let attempt = 0; ; attempt++) {
    const next = copyOf(request)
    const response = await attemptOnce(next ?? request, transport, readBody)
    const wait =
      next === null || attempt >= retries ? null : await waitAfter(request, response, attempt, clock)
    if (wait === null || clock.now() + wait > until) {
      if (response instanceof ConnectionError) throw response
      return response
    }
    if (response instanceof Response) await response.body?.cancel()
    await clock.sleep(wait, request.signal)
  }
}

function copyOf(request: Request): Request | null {
  if (request instanceof RepeatableRequest) return request.copy()
  return request.body === null ? new Request(request) : null
}

async function attemptOnce(
  request: Request,
  transport: Transport,
  readBody: boolean,
): Promise<Response | ConnectionError> {
  try {
    const response = await transport(request)
    return readBody ? await withBody(response) : response
  } catch (error) {
    request.signal.throwIfAborted()
    // fetch rejects with a TypeError for network errors (https://fetch.spec.whatwg.org/#fetch-method).
    if (!(error instanceof TypeError)) throw error
    return new ConnectionError(
      `${request.method} ${new URL(request.url).pathname} has no response: ${reasonOf(error)}`,
      { cause: error },
    )
  }
}

function reasonOf(error: TypeError): string {
  return (error.cause as Error | undefined)?.message ?? error.message
}

async function withBody(response: Response): Promise<Response> {
  if (response.body === null) return response
  return new Response(await response.arrayBuffer(), {
    status: response.status,
    statusText: response.statusText,
    headers: response.headers,
  })
}

/** Milliseconds until the next attempt; null if there is none. */
async function waitAfter(
  request: Request,
  response: Response | ConnectionError,
  attempt: number,
  clock: Clock,
): Promise<number | null> {
  if (!isRepeatable(request)) return null
  if (response instanceof ConnectionError || maybeExecuted.has(response.status)) {
    // If the first attempt was executed, the ETag has changed, and a second one would fail with 412.
    return request.headers.has('if-match') ? null : backOff(attempt, clock)
  }
  if (response.status === 409) return (await isInProgress(request, response)) ? backOff(attempt, clock) : null
  if (!notExecuted.has(response.status)) return null
  const seconds = secondsToWait(response, clock.now())
  if (seconds === null) return backOff(attempt, clock)
  return seconds > maxWaitSeconds ? null : seconds * 1000
}

function isRepeatable({ method, headers }: Request): boolean {
  return ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'].includes(method) || headers.has('idempotency-key')
}

/** Whether an earlier attempt with the same key is still running; its response can then be replayed. */
async function isInProgress({ headers }: Request, response: Response): Promise<boolean> {
  if (!headers.has('idempotency-key')) return false
  const body = (await response
    .clone()
    .json()
    .catch(() => null)) as { error?: { details?: { constraint?: string } } } | null
  return body?.error?.details?.constraint === 'in_progress'
}
