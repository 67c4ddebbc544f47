// The errors of the API, by name, with their statuses and codes; one domain's own errors are in its folder.
// app/http/errors.ts answers any other error with SERVER_ERROR, without details.
import { errorCodes } from '../generated/error-codes.ts'
import type { components } from '../generated/types.ts'

/** The codes in `x-error-codes` of the spec. */
export type ErrorCode = components['schemas']['ErrorResponse']['error']['code']

export type Location = 'body' | 'query' | 'header'
export interface Problem {
  field: string
  constraint: string
  message: string
  location: Location
}
type Codes = typeof errorCodes
type ErrorDetails = components['schemas']['ErrorDetails']

/** Why an API key, a token or a sign-in was refused. */
export type Reason =
  | 'missing'
  | 'malformed'
  | 'unknown'
  | 'expired'
  | 'revoked'
  | 'disabled'
  | 'credentials'
  | 'second_factor'
  | 'reused'

/** The states of resources that do not allow a request. */
export type State = Codes['INVALID_STATE']['states'][number]

/** The codes of errors over a limit, and their constraints that are limits. */
export type LimitCode = 'FORBIDDEN' | 'PAYLOAD_TOO_LARGE' | 'RATE_LIMITED'
export type LimitConstraint<Code extends LimitCode = LimitCode> = Codes[Code]['limits'][number]
export type ReachedLimit = components['schemas']['ReachedLimit']

/** A constraint that is no limit: errors over a limit are made by `limitReached`. */
type NoLimit<Constraint extends string> = Constraint extends LimitConstraint ? never : Constraint

/** `reason` follows from the code and the constraint, unless it is given. */
export type Details = Partial<Omit<ErrorDetails, 'request_id'>>

/** An error response. `headers` are added to it. */
export class ApiError extends Error {
  status: number
  code: ErrorCode
  details: Details
  headers: Record<string, string>
  /** The id of the resource that the error is about. `nameReference` finds the field that contains it. */
  resourceId: string | undefined
  /** Who has the limit of `details.limit`: a user, a project or an organization. Default: the caller. */
  limitedId: string | undefined
  /** Whether the cause is in the log already. */
  isLogged = false

  /** The body of the response. */
  toBody(requestId: string): components['schemas']['ErrorResponse'] {
    const { code, message } = this
    const details = { ...this.details, reason: this.#reason, request_id: requestId }
    return { error: { code, message, details } }
  }

  /** The body of the operations for OpenAI's clients, which has the fields that these read. */
  toOpenAiBody(requestId: string): components['schemas']['ErrorResponse'] {
    return withOpenAiFields(this.toBody(requestId))
  }

  get #reason(): ErrorDetails['reason'] {
    const { reason, constraint = '' } = this.details
    const { reason: other, reasons } = errorCodes[this.code]
    return reason ?? (reasons as Record<string, ErrorDetails['reason']>)[constraint] ?? other
  }

  /** The header fields of the response: `headers`, and whether to send the same request again. */
  toHeaders(): Record<string, string> {
    const isFinal = errorCodes[this.code].retry !== 'later' && this.headers['retry-after'] === undefined
    return { ...this.headers, ...(isFinal && { 'x-should-retry': 'false' }) }
  }

  constructor(
    status: number,
    code: ErrorCode,
    message: string,
    details: Details = {},
    headers: Record<string, string> = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
    this.headers = headers
  }
}

/** Thrown to roll a transaction back without an error. */
export class RolledBack extends Error {}

export function invalidRequest(problems: Problem[]): ApiError {
  const [first] = problems
  return new ApiError(400, 'INVALID_REQUEST', first.message, {
    field: first.field,
    constraint: first.constraint,
    errors: problems,
  })
}

/** A 400 for a field of the body, for a rule that the schema cannot express. */
export function invalidField(field: string, constraint: string, message: string): ApiError {
  return invalidRequest([{ field, constraint, message, location: 'body' }])
}

/** A 400 for a parameter of the query. */
export function invalidParameter(field: string, constraint: string, message: string): ApiError {
  return invalidRequest([{ field, constraint, message, location: 'query' }])
}

/** A 400 for a header field. */
export function invalidHeader(field: string, constraint: string, message: string): ApiError {
  return invalidRequest([{ field, constraint, message, location: 'header' }])
}

const authenticationErrors: Record<Reason, string> = {
  missing: 'An API key is required: Authorization: Bearer <API_KEY>.',
  malformed:
    'Invalid API key: send Authorization: Bearer plat_live_…, plat_test_… or plat_access_…, complete and ' +
    'unchanged.',
  unknown: 'Unknown API key.',
  expired: 'The API key has expired.',
  revoked: 'The API key was revoked.',
  disabled: 'The owner of the API key is disabled.',
  credentials: 'The email address or the password is wrong.',
  second_factor: 'A code of your authenticator app, or a recovery code, is required.',
  reused: 'The refresh token was used before. The session has ended: sign in again.',
}

export function unauthorized(reason: Reason, message = authenticationErrors[reason]): ApiError {
  // A refused sign-in says nothing about a token of the request.
  const isSignIn = reason === 'credentials' || reason === 'second_factor'
  const challenge = reason === 'missing' || isSignIn ? 'Bearer' : 'Bearer error="invalid_token"'
  return new ApiError(
    401,
    'UNAUTHORIZED',
    message,
    { constraint: isSignIn ? 'credentials' : 'api_key', reason },
    { 'www-authenticate': challenge },
  )
}

/** @param id the resource that the caller may not use, if the request names it. */
export function forbidden<Constraint extends string>(
  message: string,
  constraint: NoLimit<Constraint>,
  id?: string,
): ApiError {
  return Object.assign(new ApiError(403, 'FORBIDDEN', message, { constraint }), { resourceId: id })
}

export function notFound(
  resource: string,
  id?: string,
  {
    message = id === undefined ? `There is no such ${resource}.` : `There is no ${resource} ${id}.`,
    constraint,
  }: { message?: string; constraint?: string } = {},
): ApiError {
  const details = constraint === undefined ? {} : { constraint }
  return Object.assign(new ApiError(404, 'NOT_FOUND', message, details), { resourceId: id })
}

export function methodNotAllowed(method: string, allowed: string[]): ApiError {
  return new ApiError(
    405,
    'METHOD_NOT_ALLOWED',
    `${method} is not allowed for this path. Allowed: ${allowed.join(', ')}.`,
    {},
    { allow: allowed.join(', ') },
  )
}

export function notAcceptable(produces: string[]): ApiError {
  return new ApiError(406, 'NOT_ACCEPTABLE', `This operation returns ${produces.join(' or ')} only.`, {
    field: 'Accept',
    constraint: 'media_type',
  })
}

export function conflict(constraint: string, message: string, field?: string): ApiError {
  return new ApiError(409, 'CONFLICT', message, { ...(field !== undefined && { field }), constraint })
}

/**
 * Seconds after which work that another request has begun may be done, or the lease of a dead server ends.
 */
const inProgressSeconds = 2

/** A 409 for a request that can succeed when another one is done. */
export function inProgress(message: string, field?: string): ApiError {
  const details = { ...(field !== undefined && { field }), constraint: 'in_progress' }
  return new ApiError(409, 'CONFLICT', message, details, { 'retry-after': String(inProgressSeconds) })
}

/**
 * A 409 for a resource whose state does not allow the request. `field` is the field of the resource that has
 * the state; `state` is the constraint, too.
 */
export function invalidState(
  resource: string,
  state: State,
  message = `The ${resource} is ${state}.`,
  field = 'status',
): ApiError {
  return new ApiError(409, 'INVALID_STATE', message, { field, constraint: state, state })
}

export function gone(constraint: string, message: string, field?: string): ApiError {
  return new ApiError(410, 'GONE', message, { ...(field !== undefined && { field }), constraint })
}

export function preconditionFailed(): ApiError {
  return new ApiError(
    412,
    'PRECONDITION_FAILED',
    'Another request changed the resource: its ETag is not the one in If-Match. Get it again.',
    {
      field: 'If-Match',
      constraint: 'etag',
    },
  )
}

export function rangeNotSatisfiable(bytes: number): ApiError {
  return new ApiError(
    416,
    'RANGE_NOT_SATISFIABLE',
    `The range starts after the end: there are ${bytes} bytes.`,
    { field: 'Range', constraint: 'satisfiable' },
    { 'content-range': `bytes */${bytes}` },
  )
}

export function requestTimeout(): ApiError {
  return new ApiError(408, 'REQUEST_TIMEOUT', 'The request took too long to arrive.')
}

export function payloadTooLarge(limit: number): ApiError {
  return new ApiError(413, 'PAYLOAD_TOO_LARGE', `The body is larger than ${limit} bytes.`, {
    constraint: 'max_bytes',
  })
}

/** @param field the part of a form that has the wrong type. Default: the whole body. */
export function unsupportedMediaType(accepted: string[], field?: string): ApiError {
  return new ApiError(
    415,
    'UNSUPPORTED_MEDIA_TYPE',
    `${field ?? 'The body'} must be ${accepted.join(' or ')}.`,
    { field: field ?? 'Content-Type', constraint: 'media_type' },
  )
}

/** @param supported the supported types, in words. */
export function unsupportedFileType(type: string, supported: string, field: string): ApiError {
  return new ApiError(
    415,
    'UNSUPPORTED_MEDIA_TYPE',
    `Unsupported file type ${type}. Supported types: ${supported}.`,
    { field, constraint: 'media_type' },
  )
}

export function idempotencyMismatch(): ApiError {
  return new ApiError(
    422,
    'IDEMPOTENCY_MISMATCH',
    'This Idempotency-Key was used with another body or query.',
    {
      field: 'Idempotency-Key',
      constraint: 'same_body',
    },
  )
}

/** An error over a limit. `seconds`: its Retry-After. */
export function limitReached<Code extends LimitCode>(
  code: Code,
  constraint: LimitConstraint<Code>,
  message: string,
  limit: ReachedLimit,
  seconds?: number,
): ApiError {
  const headers: Record<string, string> = seconds === undefined ? {} : { 'retry-after': String(seconds) }
  return new ApiError(errorCodes[code].status, code, message, { constraint, limit }, headers)
}

/** @param seconds until the window ends. */
export function rateLimited(policy: { name: string; limit: number }, seconds: number): ApiError {
  const resetsAt = new Date(Date.now() + seconds * 1000).toISOString()
  const { name, limit } = policy
  return limitReached(
    'RATE_LIMITED',
    'rate_limit',
    `Too many requests; try again in ${seconds} s.`,
    { name: `requests_${name}`, limit, used: limit, resets_at: resetsAt },
    seconds,
  )
}

/** A limit on things that are open at once, such as streams. */
export function tooManyOpen(
  what: string,
  limit: number,
  name = `open_${what.replaceAll(/\W+/g, '_')}`,
): ApiError {
  return limitReached(
    'RATE_LIMITED',
    'max_open',
    `At most ${limit} ${what} may be open at once.`,
    { name, limit, used: limit, resets_at: null },
    10,
  )
}

export function unavailable(
  message = 'The service is not available at the moment; try again.',
  seconds = 2,
  reason: 'unavailable' | 'provider_busy' | 'provider_failed' = 'unavailable',
): ApiError {
  return new ApiError(503, 'UNAVAILABLE', message, { reason }, { 'retry-after': String(seconds) })
}

/** Adds the fields that OpenAI's clients read. */
export function withOpenAiFields({
  error,
}: components['schemas']['ErrorResponse']): components['schemas']['ErrorResponse'] {
  const { code, details } = error
  const type = openAiTypes[code as ErrorCode] ?? 'invalid_request_error'
  return { error: { ...error, type, param: details.field ?? null } }
}

/** The types of OpenAI's errors, by code; those of the others are `invalid_request_error`. */
const openAiTypes: Partial<Record<ErrorCode, string>> = {
  UNAUTHORIZED: 'authentication_error',
  FORBIDDEN: 'permission_error',
  RATE_LIMITED: 'rate_limit_error',
  SERVER_ERROR: 'server_error',
  UNAVAILABLE: 'server_error',
}
