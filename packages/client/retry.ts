// Sends a request again that was refused for now or got lost, where that cannot have an effect twice: GET, HEAD, OPTIONS,
// PUT and DELETE, and whatever has an Idempotency-Key. A body that can be read only once is sent once.
import { backOff, type Clock } from './clock.ts'
import { ConnectionError, secondsToWait } from './error.ts'

export type Transport = (request: Request) => Promise<Response>

export interface Patience {
  transport: Transport
  /** How often it may be sent again. */
  retries: number
  /** Milliseconds since 1970 after which it is not. */
  until: number
  clock: Clock
  /** Whether the answer counts only when all of it has arrived. */
  whole: boolean
}

type Input = string | URL | Request

/** A request that keeps what it was made of, to be made anew for each attempt. */
export class RepeatableRequest extends Request {
  #input: Input
  #init: RequestInit | undefined

  constructor(input: Input, init?: RequestInit) {
    super(input, init)
    this.#input = input
    this.#init = init
  }

  /** The same with the header as it is by now; null where its body is a stream, which is gone once it is sent. */
  again(): Request | null {
    const once = typeof this.#input === 'object' && 'body' in this.#input && this.#input.body !== null
    if (once || this.#init?.body instanceof ReadableStream) return null
    const headers = new Headers(this.headers)
    // Each time it is written a form has another boundary, and says so.
    if (this.#init?.body instanceof FormData) headers.delete('content-type')
    return new Request(this.#input, { ...this.#init, headers })
  }
}

/** The server says that it has not done it. */
const refused = new Set([408, 429, 503])
/** What stands before the server does not know. */
const unknown = new Set([502, 504])
/** The longest that a server is waited for, in seconds: whoever says more is answered with the error. */
const longestWait = 120

/**
 * @throws ConnectionError when the last attempt has no answer, and the reason of the request's signal when it is aborted.
 */
export async function sendPatiently(request: Request, patience: Patience): Promise<Response> {
  const { clock, retries, until, whole } = patience
  for (let attempt = 0; ; attempt++) {
    const next = copyOf(request)
    const response = await answerTo(next ?? request, patience.transport, whole)
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
  if (request instanceof RepeatableRequest) return request.again()
  return request.body === null ? new Request(request) : null
}

async function answerTo(
  request: Request,
  transport: Transport,
  whole: boolean,
): Promise<Response | ConnectionError> {
  try {
    const response = await transport(request)
    return whole ? await wholeOf(response) : response
  } catch (error) {
    request.signal.throwIfAborted()
    // What fetch says of a network (https://fetch.spec.whatwg.org/#fetch-method); anything else is no matter of connections.
    if (!(error instanceof TypeError)) throw error
    return new ConnectionError(
      `${request.method} ${new URL(request.url).pathname} has no answer: ${reasonOf(error)}`,
      { cause: error },
    )
  }
}

function reasonOf(error: TypeError): string {
  return (error.cause as Error | undefined)?.message ?? error.message
}

async function wholeOf(response: Response): Promise<Response> {
  if (response.body === null) return response
  return new Response(await response.arrayBuffer(), {
    status: response.status,
    statusText: response.statusText,
    headers: response.headers,
  })
}

/** Milliseconds until it may be sent again; null when it may not. */
async function waitAfter(
  request: Request,
  response: Response | ConnectionError,
  attempt: number,
  clock: Clock,
): Promise<number | null> {
  if (!mayRepeat(request)) return null
  if (response instanceof ConnectionError || unknown.has(response.status)) {
    // It may have been done: then the ETag is another by now, and a second attempt would be refused for the first one's effect.
    return request.headers.has('if-match') ? null : backOff(attempt, clock)
  }
  if (response.status === 409) return (await isInProgress(request, response)) ? backOff(attempt, clock) : null
  if (!refused.has(response.status)) return null
  const seconds = secondsToWait(response, clock.now())
  if (seconds === null) return backOff(attempt, clock)
  return seconds > longestWait ? null : seconds * 1000
}

function mayRepeat({ method, headers }: Request): boolean {
  return ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'].includes(method) || headers.has('idempotency-key')
}

/** Whether an attempt whose connection broke is still at work: then its answer is worth waiting for. */
async function isInProgress({ headers }: Request, response: Response): Promise<boolean> {
  if (!headers.has('idempotency-key')) return false
  const body = (await response
    .clone()
    .json()
    .catch(() => null)) as { error?: { details?: { constraint?: string } } } | null
  return body?.error?.details?.constraint === 'in_progress'
}
