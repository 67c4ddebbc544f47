// What a call fails with: an answer that is a refusal, a connection that broke, or a time that ran out.
import type { components } from '../../generated/client/types.d.ts'

type Envelope = components['schemas']['Error']['error']

/** The codes that the contract declares. */
export type ErrorCode = Envelope['code']
export type ErrorDetails = Envelope['details']

/** An answer that is no success. `message` is the server's, for people; it may change at any time. */
export class PlatformError extends Error {
  override name = 'PlatformError'
  /** The operation that was called. */
  operation: string
  /** The HTTP status; 304 is one, when `If-None-Match` was sent and nothing is new. */
  status: number
  /** null where the answer is not one of this API's errors, but of something that stands in between. */
  code: ErrorCode | null
  details: ErrorDetails | null
  /** By which the server's log tells of it. */
  requestId: string | null
  /** Seconds that the server asks to wait. */
  retryAfter: number | null
  response: Response

  constructor(operation: string, response: Response, body: unknown) {
    const told = envelopeOf(body)
    super(
      told?.message ??
        `${operation} was answered with ${response.status}${response.statusText && ` ${response.statusText}`}.`,
    )
    this.operation = operation
    this.status = response.status
    this.code = told?.code ?? null
    this.details = told?.details ?? null
    this.requestId = response.headers.get('x-request-id')
    this.retryAfter = secondsToWait(response, Date.now())
    this.response = response
  }
}

/** The server was not reached, or the connection broke before the answer was whole; `cause` has what happened. */
export class ConnectionError extends Error {
  override name = 'ConnectionError'
}

/** The time for the call, with all its attempts, is over. */
export class DeadlineError extends Error {
  override name = 'DeadlineError'
}

/** What Retry-After says (RFC 9110, 10.2.3: seconds or a date), from `now` in milliseconds; null without one. */
export function secondsToWait(response: Response, now: number): number | null {
  const told = response.headers.get('retry-after')
  if (told === null) return null
  if (/^\d+$/.test(told.trim())) return Number(told)
  const date = Date.parse(told)
  return Number.isNaN(date) ? null : Math.max(0, (date - now) / 1000)
}

function envelopeOf(body: unknown): Envelope | null {
  const told = (body as { error?: Envelope } | undefined)?.error
  return typeof told?.code === 'string' ? told : null
}
