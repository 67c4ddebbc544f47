// The errors of a call: an API error, a network error, or a time-out.
import type { components } from '../../generated/client/types.d.ts'

type Envelope = components['schemas']['ErrorResponse']['error']

/** The error codes of the contract. */
export type ErrorCode = Envelope['code']
export type ErrorDetails = Envelope['details']

/** A response that is not a success. `message` is the server's text for people and may change at any time. */
export class PlatformError extends Error {
  override name = 'PlatformError'
  /** The operationId. */
  operation: string
  /** The HTTP status. 304 is an error too, for a request with `If-None-Match`. */
  status: number
  /** null if the response does not come from the API, for example from a proxy. */
  code: ErrorCode | null
  details: ErrorDetails | null
  /** Identifies the request in the server's log. */
  requestId: string | null
  /** Seconds to wait, from Retry-After. */
  retryAfter: number | null
  response: Response

  constructor(operation: string, response: Response, body: unknown) {
    const envelope = envelopeOf(body)
    const statusText = response.statusText && ` ${response.statusText}`
    super(envelope?.message ?? `${operation} failed with ${response.status}${statusText}.`)
    this.operation = operation
    this.status = response.status
    this.code = envelope?.code ?? null
    this.details = envelope?.details ?? null
    this.requestId = response.headers.get('x-request-id')
    this.retryAfter = secondsToWait(response, Date.now())
    this.response = response
  }
}

/** The server was not reached, or the connection broke before the response was complete. See `cause`. */
export class ConnectionError extends Error {
  override name = 'ConnectionError'
}

/** The call, including all retries, took longer than its `timeout`. */
export class DeadlineError extends Error {
  override name = 'DeadlineError'
}

/**
 * Retry-After in seconds (RFC 9110, 10.2.3: seconds or a date); `now` in milliseconds. null without the
 * header.
 */
export function secondsToWait(response: Response, now: number): number | null {
  const value = response.headers.get('retry-after')
  if (value === null) return null
  if (/^\d+$/.test(value.trim())) return Number(value)
  const date = Date.parse(value)
  return Number.isNaN(date) ? null : Math.max(0, (date - now) / 1000)
}

function envelopeOf(body: unknown): Envelope | null {
  const envelope = (body as { error?: Envelope } | undefined)?.error
  return typeof envelope?.code === 'string' ? envelope : null
}
