// The body of every error. Change it to the shape that your contract declares.
import type { FastifyRequest } from 'fastify'
import type { HttpError } from './generated/handler.ts'

/** A problem as RFC 9457 describes it. */
export function errorBody(
  { status, message, problems }: HttpError,
  request: FastifyRequest,
): { type: string; body: unknown } {
  return {
    type: 'application/problem+json',
    body: {
      status,
      title: status === 500 ? 'The server failed' : message,
      instance: request.url,
      ...(problems.length > 0 && { problems }),
    },
  }
}
