// Checks of header fields that hold for every request, and the request id of the client.
import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { ApiError, invalidHeader } from '../../infra/errors.ts'

type Done = (error?: Error) => void

const singleFields = new Map([
  ['host', 'Host'],
  ['authorization', 'Authorization'],
])

/** A 400 for two Host or Authorization fields: Node uses the first, but a proxy may have used the second. */
export function repeatedField({ rawHeaders }: IncomingMessage): ApiError | null {
  const seen = new Set<string>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const field = singleFields.get(rawHeaders[i].toLowerCase())
    if (field === undefined) continue
    if (seen.has(field)) return invalidHeader(field, 'once', `${field} is given twice`)
    seen.add(field)
  }
  return null
}

/** An onRequest hook of operations with a body: throws 415 for a compressed body. */
export function requireIdentityCoding({ headers }: FastifyRequest, _reply: unknown, done: Done): void {
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (coding === 'identity') return done()
  done(
    new ApiError(
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be sent without Content-Encoding.',
      { field: 'Content-Encoding', constraint: 'media_type' },
      { 'accept-encoding': 'identity' },
    ),
  )
}

/** The X-Request-ID of the client, if it has 1 to 128 printable ASCII characters; otherwise undefined. */
export function clientRequestId({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const id = headers['x-request-id']
  return typeof id === 'string' && /^[\x20-\x7e]{1,128}$/.test(id) ? id : undefined
}

/** The X-Request-ID of the response: the client's own id, or else the id in the log and in events. */
export function answeredRequestId(request: FastifyRequest): string {
  return clientRequestId(request) ?? request.id
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

/** The Content-Length of a request; undefined if the body is sent in chunks. */
export function contentLength({ headers }: Pick<IncomingMessage, 'headers'>): number | undefined {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}
