// The errors of the client: a class per kind, all of them PlatformError.
import type { components } from '../../generated/client/types.d.ts'

type Envelope = components['schemas']['ErrorResponse']['error']

/** The error codes of the contract. */
export type ErrorCode = Envelope['code']
export type ErrorDetails = Envelope['details']

interface ErrorInit {
  operation?: string
  cause?: unknown
}

/** Every error that the client throws. `message` is for people and may change at any time. */
export class PlatformError extends Error {
  override name = 'PlatformError'
  /** The operationId; null outside of operations. */
  operation: string | null
  /** The HTTP status; null if there was no response. */
  status: number | null = null
  /** The code of the API; null if the API did not answer. */
  code: ErrorCode | null = null
  details: ErrorDetails | null = null
  /** Identifies the request in the server's log. */
  requestId: string | null = null
  /** Seconds to wait before the next attempt, from Retry-After. */
  retryAfter: number | null = null
  /** The response, whose body has been read. */
  response: Response | null = null

  constructor(message: string, { operation, cause }: ErrorInit = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.operation = operation ?? null
  }
}

/** The response is not a success. The classes below are for single statuses. */
export class ApiError extends PlatformError {
  override name = 'ApiError'
  declare status: number
  declare response: Response

  constructor(operation: string, response: Response, envelope: Envelope | null) {
    super(envelope?.message ?? foreignResponse(operation, response), { operation })
    this.status = response.status
    this.code = envelope?.code ?? null
    this.details = envelope?.details ?? null
    this.requestId = response.headers.get('x-request-id')
    this.retryAfter = secondsToWait(response, Date.now())
    this.response = response
  }
}

/** 400: a parameter or the body is invalid. `details.errors` names each problem. */
export class ValidationError extends ApiError {
  override name = 'ValidationError'
}
/** 401: the API key is missing, malformed, expired or revoked. */
export class AuthenticationError extends ApiError {
  override name = 'AuthenticationError'
}
/** 403: the API key or the user lacks a permission. */
export class PermissionError extends ApiError {
  override name = 'PermissionError'
}
/** 404: the resource does not exist or is not visible to you. */
export class NotFoundError extends ApiError {
  override name = 'NotFoundError'
}
/** 409: the state of the resource or a concurrent request does not allow this. */
export class ConflictError extends ApiError {
  override name = 'ConflictError'
}
/** 410: the resource existed, but is gone. */
export class GoneError extends ApiError {
  override name = 'GoneError'
}
/** 412: the resource has changed since you read it, so `If-Match` does not match. */
export class PreconditionFailedError extends ApiError {
  override name = 'PreconditionFailedError'
}
/** 429: too many requests. `retryAfter` is the number of seconds to wait. */
export class RateLimitError extends ApiError {
  override name = 'RateLimitError'
}
/** 500 or higher: the server or a proxy failed. */
export class ServerError extends ApiError {
  override name = 'ServerError'
}

/** The server was not reached, or the connection broke before the response was complete. See `cause`. */
export class ConnectionError extends PlatformError {
  override name = 'ConnectionError'
}
/** The call, including all retries, took longer than its `timeout`. */
export class TimeoutError extends PlatformError {
  override name = 'TimeoutError'
}
/** The caller's signal was aborted. `cause` is the signal's reason. */
export class AbortError extends PlatformError {
  override name = 'AbortError'
}
/** The options of the client are wrong: its URL, its API key or where it runs. */
export class ConfigurationError extends PlatformError {
  override name = 'ConfigurationError'
}
/** A webhook was not signed with the secret, is too old, or is not an event. Reject it with 400. */
export class WebhookVerificationError extends PlatformError {
  override name = 'WebhookVerificationError'
}

const byStatus: Record<number, typeof ApiError> = {
  400: ValidationError,
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  410: GoneError,
  412: PreconditionFailedError,
  429: RateLimitError,
}

/** The error of a response, by its status. */
export function apiErrorOf(operation: string, response: Response, body: unknown): ApiError {
  const Kind = byStatus[response.status] ?? (response.status >= 500 ? ServerError : ApiError)
  return new Kind(operation, response, envelopeOf(body))
}

/** The error that ends a stream of events. */
export function streamErrorOf(operation: string, body: unknown): PlatformError {
  const envelope = envelopeOf(body)
  const error = new PlatformError(envelope?.message ?? 'The stream ended with an error.', { operation })
  return Object.assign(error, { code: envelope?.code ?? null, details: envelope?.details ?? null })
}

/** The caller's signal as an error of this client; any other error unchanged. */
export function withAbortError(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted !== true || error !== signal.reason || error instanceof PlatformError) return error
  return new AbortError('The call was aborted.', { cause: error })
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw withAbortError(signal.reason, signal)
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

/** Said of a response that has no error of the API: it comes from a proxy or another server. */
export function foreignResponse(operation: string, { status, statusText, url, headers }: Response): string {
  const type = headers.get('content-type')?.split(';')[0] ?? 'no body'
  const answer = `${status}${statusText && ` ${statusText}`}, ${type}`
  const hint = status === 304 || status >= 500 ? '' : ' Check `baseUrl`: it may be another server.'
  return `${operation} failed: ${url === '' ? 'the response' : url} is not from the API (${answer}).${hint}`
}
