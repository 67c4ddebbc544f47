// The error codes of each status, and the responses that the spec declares.
import { operationInfos } from '../operations/operation-fixtures.ts'

/** The error codes that the API uses, by status. */
export const codesByStatus: Record<number, string[]> = {
  400: ['INVALID_REQUEST'],
  401: ['UNAUTHORIZED'],
  402: ['PAYMENT_REQUIRED'],
  403: ['FORBIDDEN'],
  404: ['NOT_FOUND'],
  405: ['METHOD_NOT_ALLOWED'],
  406: ['NOT_ACCEPTABLE'],
  408: ['REQUEST_TIMEOUT'],
  409: ['CONFLICT', 'INVALID_STATE'],
  410: ['GONE'],
  412: ['PRECONDITION_FAILED'],
  413: ['PAYLOAD_TOO_LARGE'],
  415: ['UNSUPPORTED_MEDIA_TYPE'],
  416: ['RANGE_NOT_SATISFIABLE'],
  422: ['IDEMPOTENCY_MISMATCH'],
  429: ['RATE_LIMITED'],
  460: ['INVALID_REQUEST'],
  500: ['SERVER_ERROR'],
  503: ['UNAVAILABLE'],
}

/** Every operation and status in the spec, such as `getProject 200`. */
export function declaredResponses(): string[] {
  return operationInfos.flatMap((info) => Object.keys(info.replies).map((status) => `${info.id} ${status}`))
}

/** The declared responses that are missing from `pairs`. */
export function uncoveredResponses(pairs: ReadonlySet<string>): string[] {
  return declaredResponses().filter((pair) => !pairs.has(pair))
}
