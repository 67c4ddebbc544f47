// Translates a failure of a provider: the error for the caller, whether to retry, and the report for the
// operator. Neither text repeats what the provider sent, because that may contain the prompt or the API key.
import OpenAI, { APIConnectionError, APIError } from 'openai'
import { ApiError, invalidField, unavailable } from '../../../infra/errors.ts'
import { retryAfterMs } from '../../../infra/retry-after.ts'
import { ResponseTooLarge } from './client.ts'

/** A report about a provider. The message is for the operator. */
export class ProviderError extends Error {}

/** An answer that breaks the protocol. `retryable` if the next answer may be valid. */
export class InvalidAnswer extends Error {
  retryable: boolean

  constructor(message: string, retryable = false) {
    super(message)
    this.retryable = retryable
  }
}

/** The message names the time-out that expired. */
export class ProviderTimeout extends Error {}

export interface ProviderFailure {
  error: ApiError
  retryable: boolean
  /** Milliseconds from the Retry-After of the provider; null without one. */
  retryAfter: number | null
  /** For the operator; null if neither the provider nor its settings are at fault. */
  report: string | null
  /**
   * Whether another provider may succeed: `no` if the request is at fault; `down` if this provider will fail
   * for other requests, too.
   */
  elsewhere: 'no' | 'yes' | 'down'
}

/** A provider has failed before the first part of its answer. */
export class UpstreamFailed extends Error {
  failure: ProviderFailure

  constructor(failure: ProviderFailure) {
    super(failure.error.message)
    this.failure = failure
  }
}

/** Seconds in the Retry-After for the caller: the default if the provider sends none, and the maximum. */
const defaultRetryAfter = 5
const maxRetryAfter = 3600
/** The error codes of OpenAI that may be logged. Any other value may be arbitrary text. */
const loggableCodes = new Set([
  'account_deactivated',
  'billing_not_active',
  'context_length_exceeded',
  'insufficient_quota',
  'invalid_api_key',
  'invalid_request_error',
  'invalid_value',
  'model_not_found',
  'rate_limit_exceeded',
  'server_error',
  'unsupported_parameter',
  'unsupported_value',
])
/** The messages of OpenAI, vLLM, llama.cpp, Ollama, TGI and Anthropic for a prompt that is too long. */
const promptTooLong = new RegExp(
  [
    'context[ _](length|window|size)',
    'maximum context',
    "exceeds? the (available |model's |maximum )*context",
    '(prompt|input) is too long',
    'too many (input )?tokens',
    'max_new_tokens. must be',
  ].join('|'),
  'i',
)
/** Their messages for a `max_tokens` that is too large. */
const maxTokensTooLarge = new RegExp(
  [
    String.raw`max_(completion_)?tokens\W+(or \W?max_(completion_)?tokens\W+)?is too large`,
    'max_(completion_)?tokens must be (less|at most)',
  ].join('|'),
  'i',
)

/** Their messages for a model that they do not have. */
const unknownModel = /\bmodel\b.{0,100}\b(not found|not exist)|(invalid|unknown) model\b/i

/** @returns null for an error that is not the provider's: a bug in this program. */
export function toFailure(error: unknown): ProviderFailure | null {
  if (error instanceof ProviderTimeout)
    return { ...unavailableFailure(error.message, false), elsewhere: 'down' }
  if (error instanceof InvalidAnswer) return unavailableFailure(error.message, error.retryable)
  if (error instanceof ResponseTooLarge) return unavailableFailure('its answer is too large', false)
  if (error instanceof SyntaxError) return unavailableFailure('its answer is not valid JSON', false)
  if (error instanceof APIConnectionError && isClosedByUs(error))
    return { ...unavailableFailure('', false), report: null, elsewhere: 'no' }
  if (error instanceof APIConnectionError)
    return { ...unavailableFailure(`no connection${causeSuffix(error)}`, true), elsewhere: 'down' }
  if (error instanceof APIError)
    return error.status === undefined ? failureOfEvent(error) : failureOfStatus(error, error.status)
  // undici throws a TypeError with a cause when the connection closes before the end of the answer.
  if (error instanceof TypeError && error.cause !== undefined)
    return unavailableFailure(`the connection closed${causeSuffix(error)}`, true)
  return null
}

/** Only the start of a message is searched: later text may repeat the request. */
const searchedLength = 200

/** Whether the provider rejected a request because of this field or its value. */
export function isUnsupportedParameter(error: unknown, field: string): boolean {
  if (!(error instanceof OpenAI.APIError) || (error.status !== 400 && error.status !== 422)) return false
  return error.param === field || error.message.slice(0, searchedLength).includes(field)
}

/** Whether the provider rejected a request because `max_tokens`, or `max_completion_tokens`, is too large. */
export function isMaxTokensTooLarge(error: unknown): boolean {
  return error instanceof OpenAI.APIError && maxTokensTooLarge.test(error.message)
}

function unavailableFailure(report: string, retryable: boolean, seconds?: number): ProviderFailure {
  return {
    error: unavailable('The provider of the model failed; try again.', seconds, 'provider_failed'),
    retryable,
    retryAfter: null,
    report,
    elsewhere: 'yes',
  }
}

function failureOfStatus(error: APIError, status: number): ProviderFailure {
  const report = `it answered ${status}${codeSuffix(error)}${requestIdSuffix(error)}`
  const retryAfter = retryAfterOf(error.headers)
  // A retry does not help against an unpaid bill.
  if (error.code === 'insufficient_quota' || error.code === 'model_not_found')
    return { ...unavailableFailure(report, false), elsewhere: 'down' }
  if (status === 429) return busyFailure(retryAfter)
  if (status === 400 || status === 413 || status === 422)
    return (
      callerFailure(error) ?? {
        ...unavailableFailure(report, false),
        elsewhere: isUnknownModel(error) ? 'yes' : 'no',
      }
    )
  return {
    ...unavailableFailure(report, status === 408 || status === 409 || status >= 500, seconds(retryAfter)),
    retryAfter,
    elsewhere: ofOneRequest.has(status) ? 'yes' : 'down',
  }
}

/** Some servers answer 400 for a model that they do not have. */
function isUnknownModel({ param, message }: APIError): boolean {
  return param === 'model' || unknownModel.test(message.slice(0, searchedLength))
}

/** What a request may cause that others do not. */
const ofOneRequest = new Set([408, 409, 500])

/** An error inside of a stream has no status, but some servers put one into `code`. */
function failureOfEvent(error: APIError): ProviderFailure {
  const status = Number(error.code)
  if (status >= 400 && status <= 599) return failureOfStatus(error, status)
  if (error.code === 'rate_limit_exceeded' || error.type === 'rate_limit_exceeded') return busyFailure(null)
  return (
    callerFailure(error) ??
    unavailableFailure(
      `it ended the answer with an error${codeSuffix(error)}`,
      error.type !== 'invalid_request_error',
    )
  )
}

function busyFailure(retryAfter: number | null): ProviderFailure {
  const error = unavailable(
    'The provider of the model is busy; try again.',
    seconds(retryAfter) ?? defaultRetryAfter,
    'provider_busy',
  )
  return { error, retryable: true, retryAfter, report: null, elsewhere: 'down' }
}

/** A failure that the request of the caller caused; null for any other. */
function callerFailure(error: APIError): ProviderFailure | null {
  const failure = (field: string, constraint: string, message: string): ProviderFailure => ({
    error: invalidField(field, constraint, message),
    retryable: false,
    retryAfter: null,
    report: null,
    elsewhere: 'no',
  })
  if (maxTokensTooLarge.test(error.message))
    return failure('max_tokens', 'maximum', '`max_tokens` is larger than the model allows.')
  if (error.status === 413 || error.code === 'context_length_exceeded' || promptTooLong.test(error.message)) {
    return failure(
      'messages',
      'context_window',
      'The conversation is longer than the context window of the model.',
    )
  }
  return null
}

/** 400 for a parameter of the caller that the model rejects. */
export function unsupportedParameter(field: string): ApiError {
  return invalidField(field, 'unsupported', `The model does not support this value of \`${field}\`.`)
}

/** In milliseconds. `retry-after-ms` is an extension of OpenAI. */
function retryAfterOf(headers: Headers | undefined): number | null {
  const milliseconds = headers?.get('retry-after-ms') ?? ''
  if (/^\d+(\.\d+)?$/.test(milliseconds)) return Number(milliseconds)
  return retryAfterMs(headers?.get('retry-after'))
}

function seconds(milliseconds: number | null): number | undefined {
  return milliseconds === null
    ? undefined
    : Math.min(Math.max(Math.ceil(milliseconds / 1000), 1), maxRetryAfter)
}

function codeSuffix(error: APIError): string {
  const code = [error.code, error.type].find((value) => typeof value === 'string' && loggableCodes.has(value))
  return code === undefined ? '' : ` (${code})`
}

function requestIdSuffix(error: APIError): string {
  return /^[\w-]{1,64}$/.test(error.requestID ?? '') ? `, request id ${error.requestID}` : ''
}

/** Whether this program closed the connections. */
function isClosedByUs(error: Error): boolean {
  return causeCode(error) === 'UND_ERR_DESTROYED'
}

function causeSuffix(error: unknown): string {
  const code = causeCode(error)
  return code === null ? '' : ` (${code})`
}

/** The first system error code, such as ECONNREFUSED, in the chain of causes. */
function causeCode(error: unknown): string | null {
  let cause = error as { code?: unknown; cause?: unknown } | null | undefined
  for (let depth = 0; cause !== undefined && cause !== null && depth < 5; depth++) {
    if (typeof cause.code === 'string' && /^[A-Z0-9_]{1,60}$/.test(cause.code)) return cause.code
    cause = cause.cause as typeof cause
  }
  return null
}
