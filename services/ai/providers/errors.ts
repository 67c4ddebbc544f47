// What a failure of an upstream means to the caller, whether another try may help, and what the operator is told. Nothing
// that the upstream said goes into either: it may repeat the prompt, or the key.
import OpenAI, { APIConnectionError, APIError } from 'openai'
import { ApiError, invalidField, rateLimited, unavailable } from '../../../infra/errors.ts'
import { TooLarge } from './client.ts'

/** An upstream that does not do what it should. The message is for the operator. */
export class UpstreamError extends Error {}

/** An answer that is none, by what is wrong with it. `retryable` where the next one may be whole. */
export class BrokenAnswer extends Error {
  retryable: boolean

  constructor(message: string, retryable = false) {
    super(message)
    this.retryable = retryable
  }
}

/** A time that was over; the message says which. */
export class TimedOut extends Error {}

export interface Failure {
  error: ApiError
  retryable: boolean
  /** Milliseconds that the upstream asks to wait for, where it does. */
  retryAfter: number | null
  /** For the operator; null where nothing is wrong with the upstream or its settings. */
  report: string | null
}

/** Seconds that a caller is told to wait when the upstream does not say. */
const busySeconds = 5
const longestWait = 3600
/** Codes as OpenAI publishes them, which may be told; what else stands in their place may be anything. */
const knownCodes = new Set([
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
/** Servers that a million others imitate say it each in their own words: OpenAI, vLLM, llama.cpp, Ollama, TGI, Anthropic. */
const tooLong =
  /context[ _](length|window|size)|maximum context|exceeds? the (available |model's |maximum )*context|(prompt|input) is too long|too many (input )?tokens|max_new_tokens. must be/i
const tooManyWanted =
  /max_(completion_)?tokens\W+(or \W?max_(completion_)?tokens\W+)?is too large|max_(completion_)?tokens must be (less|at most)/i

/** @returns null for what is no failure of an upstream, but of this program. */
export function toFailure(error: unknown): Failure | null {
  if (error instanceof TimedOut) return failed(error.message, false)
  if (error instanceof BrokenAnswer) return failed(error.message, error.retryable)
  if (error instanceof TooLarge) return failed('its answer is too large', false)
  if (error instanceof SyntaxError) return failed('its answer is no JSON', false)
  if (error instanceof APIConnectionError && isClosed(error)) return { ...failed('', false), report: null }
  if (error instanceof APIConnectionError) return failed(`no connection${reason(error)}`, true)
  if (error instanceof APIError)
    return error.status === undefined ? ofEvent(error) : ofStatus(error, error.status)
  // What undici says when a connection ends before the answer does.
  if (error instanceof TypeError && error.cause !== undefined)
    return failed(`the connection ended${reason(error)}`, true)
  return null
}

/** Characters of a message that say what is wrong; what follows may be the request itself. */
const told = 200

/** Whether a request was refused for a field that this server does not know, or not with that value. */
export function refuses(error: unknown, field: string): boolean {
  if (!(error instanceof OpenAI.APIError) || (error.status !== 400 && error.status !== 422)) return false
  return error.param === field || error.message.slice(0, told).includes(field)
}

/** Whether max_tokens, or what stands for it, is named because there is too much of it. */
export function wantsFewerTokens(error: unknown): boolean {
  return error instanceof OpenAI.APIError && tooManyWanted.test(error.message)
}

function failed(what: string, retryable: boolean, seconds?: number): Failure {
  return {
    error: unavailable('The server of the model does not answer as it should; try again.', seconds),
    retryable,
    retryAfter: null,
    report: what,
  }
}

function ofStatus(error: APIError, status: number): Failure {
  const what = `it answered ${status}${code(error)}${requestId(error)}`
  const retryAfter = waitOf(error.headers)
  // Waiting does not pay a bill.
  if (error.code === 'insufficient_quota') return failed(what, false)
  if (status === 429) return busy(retryAfter)
  if (status === 400 || status === 413 || status === 422) return callersFault(error) ?? failed(what, false)
  return {
    ...failed(what, status === 408 || status === 409 || status >= 500, seconds(retryAfter)),
    retryAfter,
  }
}

/** An error in the middle of a stream has no status, but some servers put one into `code`. */
function ofEvent(error: APIError): Failure {
  const status = Number(error.code)
  if (status >= 400 && status <= 599) return ofStatus(error, status)
  if (error.code === 'rate_limit_exceeded' || error.type === 'rate_limit_exceeded') return busy(null)
  return (
    callersFault(error) ??
    failed(`it ended the answer with an error${code(error)}`, error.type !== 'invalid_request_error')
  )
}

function busy(retryAfter: number | null): Failure {
  return { error: rateLimited(seconds(retryAfter) ?? busySeconds), retryable: true, retryAfter, report: null }
}

function callersFault(error: APIError): Failure | null {
  const refused = (field: string, constraint: string, message: string): Failure => ({
    error: invalidField(field, constraint, message),
    retryable: false,
    retryAfter: null,
    report: null,
  })
  if (tooManyWanted.test(error.message))
    return refused('max_tokens', 'maximum', 'max_tokens is more than the model can write.')
  if (error.status === 413 || error.code === 'context_length_exceeded' || tooLong.test(error.message)) {
    return refused('messages', 'context_window', 'The conversation is longer than the model can take.')
  }
  return null
}

/** The caller's own wish that the model cannot fulfil. */
export function unsupported(field: string): ApiError {
  return invalidField(field, 'unsupported', `The model does not take this ${field}.`)
}

/** In milliseconds. @see RFC 9110, 10.2.3; `retry-after-ms` is OpenAI's own. */
function waitOf(headers: Headers | undefined): number | null {
  const milliseconds = headers?.get('retry-after-ms') ?? ''
  if (/^\d+(\.\d+)?$/.test(milliseconds)) return Number(milliseconds)
  const value = headers?.get('retry-after') ?? ''
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now())
}

function seconds(milliseconds: number | null): number | undefined {
  return milliseconds === null
    ? undefined
    : Math.min(Math.max(Math.ceil(milliseconds / 1000), 1), longestWait)
}

function code(error: APIError): string {
  const known = [error.code, error.type].find((value) => typeof value === 'string' && knownCodes.has(value))
  return known === undefined ? '' : ` (${known})`
}

function requestId(error: APIError): string {
  return /^[\w-]{1,64}$/.test(error.requestID ?? '') ? `, its request ${error.requestID}` : ''
}

/** Whether it was this program that closed the connections. */
function isClosed(error: Error): boolean {
  return causeCode(error) === 'UND_ERR_DESTROYED'
}

function reason(error: unknown): string {
  const code = causeCode(error)
  return code === null ? '' : ` (${code})`
}

/** The system's code for what broke, which hides among the causes. */
function causeCode(error: unknown): string | null {
  let cause = error as { code?: unknown; cause?: unknown } | null | undefined
  for (let depth = 0; cause !== undefined && cause !== null && depth < 5; depth++) {
    if (typeof cause.code === 'string' && /^[A-Z0-9_]{1,60}$/.test(cause.code)) return cause.code
    cause = cause.cause as typeof cause
  }
  return null
}
