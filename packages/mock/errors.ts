// The errors of the mock. Their body is `{"error": {"code", "message", "details"}}`, unless the document
// declares another schema for the response.
import type { Credential } from '@platform-api/openapi/document.ts'

export interface Problem {
  field: string
  constraint: string
  message: string
  location: 'body' | 'query' | 'header'
}

export class MockError extends Error {
  status: number
  code: string
  details: object
  headers: Record<string, string>

  constructor(
    status: number,
    code: string,
    message: string,
    details: object = {},
    headers: Record<string, string> = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
    this.headers = headers
  }
}

export function invalidRequest(problems: Problem[]): MockError {
  const [{ field, constraint, message }] = problems
  return new MockError(400, 'INVALID_REQUEST', message, { field, constraint, errors: problems })
}

/** @param accepted the credentials that the operation accepts; they determine WWW-Authenticate. */
export function unauthorized(accepted: Credential[], reason: 'missing' | 'unknown'): MockError {
  const schemes = new Set(
    accepted.map(({ scheme }) => (scheme === 'basic' ? 'Basic realm="mock"' : 'Bearer')),
  )
  return new MockError(
    401,
    'UNAUTHORIZED',
    'The credentials are missing or invalid.',
    { constraint: 'api_key', reason },
    { 'www-authenticate': [...schemes].join(', ') },
  )
}

export function notFound(what: string): MockError {
  return new MockError(404, 'NOT_FOUND', `There is no such ${what}.`)
}

export function preconditionFailed(): MockError {
  return new MockError(412, 'PRECONDITION_FAILED', 'If-Match does not name the current ETag.', {
    constraint: 'if_match',
  })
}

export function methodNotAllowed(method: string, allowed: string[]): MockError {
  const list = allowed.join(', ')
  const message = `${method} is not allowed for this path. Allowed: ${list}.`
  return new MockError(405, 'METHOD_NOT_ALLOWED', message, {}, { allow: list })
}

export function unsupportedMediaType(accepted: string[]): MockError {
  return new MockError(415, 'UNSUPPORTED_MEDIA_TYPE', `The body must be ${accepted.join(' or ')}.`, {
    field: 'Content-Type',
    constraint: 'media_type',
  })
}
