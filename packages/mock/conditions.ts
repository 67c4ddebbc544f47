// ETags of the mock's answers, and requests with conditions (RFC 9110, section 13.1).
import { createHash } from 'node:crypto'
import type { Operation } from '@platform-api/openapi/document.ts'
import type { MockAnswer } from './answers.ts'

/** The answer with the ETag of its body, if the contract declares one. */
export function withEtag(answer: MockAnswer): MockAnswer {
  const name = nameIn(answer)
  if (name === undefined) return answer
  const hash = createHash('sha256').update(JSON.stringify(answer.body)).digest('base64url')
  return { ...answer, headers: { ...answer.headers, [name]: `"${hash.slice(0, 22)}"` } }
}

/** The ETag of the answer; undefined if it has none. */
export function etagOf(answer: MockAnswer): string | undefined {
  const name = nameIn(answer)
  return name === undefined ? undefined : answer.headers[name]
}

/** 304 without a body if `If-None-Match` names the answer's ETag and the operation declares 304. */
export function unlessMatched(
  { responses }: Operation,
  field: string | undefined,
  answer: MockAnswer,
): MockAnswer {
  const etag = etagOf(answer)
  if (etag === undefined || field === undefined || !responses.has(304) || !matches(field, etag)) return answer
  return { status: 304, contentType: null, headers: { etag }, body: null }
}

/** Whether a list such as `"a", W/"b"` or `*` names the ETag. */
export function matches(field: string, etag: string): boolean {
  const names = field.split(',').map((each) => each.trim().replace(/^W\//, ''))
  return names.includes('*') || names.includes(etag)
}

function nameIn({ headers }: MockAnswer): string | undefined {
  return Object.keys(headers).find((name) => name.toLowerCase() === 'etag')
}
