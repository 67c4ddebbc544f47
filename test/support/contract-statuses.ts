// Which answers the spec declares, and which code of the error envelope goes with which status.
import { infos } from './operation-fixtures.ts'

/** Statuses and their codes, as the product has them. */
export const codes: Record<number, string[]> = {
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

/** Every operation and status that the spec declares, as `getProject 200`. */
export function declaredPairs(): string[] {
  return infos.flatMap((info) => Object.keys(info.replies).map((status) => `${info.id} ${status}`))
}

/** What is declared and not among the pairs. */
export function unseen(pairs: ReadonlySet<string>): string[] {
  return declaredPairs().filter((pair) => !pairs.has(pair))
}
