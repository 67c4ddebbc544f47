// Every error response has one shape, made here and only here: {error: {code, message, details}}. A browser
// that requested an HTML page gets an error page instead.
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Socket } from 'node:net'
import {
  ApiError,
  invalidField,
  notFound,
  payloadTooLarge,
  requestTimeout,
  unsupportedMediaType,
} from '../../infra/errors.ts'
import { pageHeaders } from '../../infra/html/layout.ts'
import { newRequestId } from '../../infra/ids.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { acceptsHtml } from './content-negotiation.ts'
import { errorPage } from './error-page.ts'
import { operationsAt } from '../../infra/contract/operations-by-path.ts'
import { answeredRequestId } from './request-headers.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The error that the request was answered with. */
    answeredError: ApiError | null
  }
}

/** The largest JSON body without long texts, in bytes. */
export const bodyLimit = 64 * 1024

/** The largest body of a page's form, in bytes. */
export const fieldsLimit = 16 * 1024

export type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply

/**
 * Fastify's error handler. Unexpected errors are logged in full; their response contains no details.
 * @param translate turns a database error into its API error.
 * @param options.always the header fields of every response; an error before the hooks leaves them unset.
 * @param options.signInUrl the page to sign in.
 */
export function createErrorHandler(
  translate: (error: unknown) => unknown,
  { always, signInUrl }: { always: Record<string, string>; signInUrl: string },
): ErrorHandler {
  return (error, request, reply) =>
    answerError(asApiError(translate(error), request), {
      request,
      reply: reply.headers(always),
      signInUrl,
    })
}

interface FailedRequest {
  request: FastifyRequest
  reply: FastifyReply
  signInUrl: string
}

function answerError(known: ApiError, { request, reply, signInUrl }: FailedRequest): FastifyReply {
  if (known.status >= 500 && !known.isLogged) {
    request.log.error({ err: known.cause ?? known, code: known.code }, 'request failed')
  }
  request.answeredError = known
  const requestId = answeredRequestId(request)
  const operations = operationsOf(request)
  const body = operations.some(isForOpenAi) ? known.toOpenAiBody(requestId) : known.toBody(requestId)
  const asPage =
    operations.some(({ replies }) => replies[known.status]?.contentType === 'text/html') ||
    (acceptsHtml(request.headers.accept) && operations.some(({ htmlErrors }) => htmlErrors === true))
  return (
    reply
      .code(known.status)
      // Set here too, since an error before the hooks leaves them unset.
      .headers({
        ...(asPage && pageHeaders),
        ...known.toHeaders(),
        'cache-control': 'no-store',
        'x-request-id': requestId,
      })
      .type(`${asPage ? 'text/html' : 'application/json'}; charset=utf-8`)
      .serializer((body: unknown) => body as string)
      .send(
        asPage
          ? errorPage(known, requestId, operations.some(isSignIn) ? signInUrl : null)
          : JSON.stringify(body),
      )
  )
}

/** The requested operation; when the path lacks the method, the other operations of the path. */
function operationsOf(request: FastifyRequest): OperationInfo[] {
  const { operation } = request.routeOptions.config
  return operation === undefined ? operationsAt(request.url) : [operation]
}

/** Whether OpenAI's clients call the operation. */
function isForOpenAi({ tag }: OperationInfo): boolean {
  return tag.startsWith('openai')
}

/** Whether the operation is a step of a sign-in at an identity provider. */
function isSignIn({ tag }: OperationInfo): boolean {
  return tag === 'identities'
}

function asApiError(error: unknown, request: FastifyRequest): ApiError {
  if (error instanceof ApiError) return error
  const { code, statusCode } = (error ?? {}) as FastifyError
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return payloadTooLarge(request.routeOptions.bodyLimit ?? bodyLimit)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return unsupportedMediaType(
        request.routeOptions.config.operation?.body?.contentTypes ?? ['application/json'],
      )
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return invalidField('body', 'content_length', 'The body length differs from Content-Length.')
    case 'FST_ERR_BAD_URL':
      return new ApiError(400, 'INVALID_REQUEST', 'The URL is malformed.', {
        field: 'url',
        constraint: 'format',
      })
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return notFound('path')
    case 'ECONNRESET':
      return new ApiError(400, 'INVALID_REQUEST', 'The request body is incomplete.', {
        constraint: 'complete',
      })
  }
  if (statusCode === 408) return requestTimeout()
  return Object.assign(
    new ApiError(
      500,
      'SERVER_ERROR',
      'An unexpected error occurred. Quote the request id when you report it.',
    ),
    {
      cause: error,
    },
  )
}

/** Answers a request whose headers are not valid HTTP, too large, or too slow. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy(error)
    return
  }
  const known =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? requestTimeout()
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? new ApiError(431, 'INVALID_REQUEST', 'The request headers are too large.', {
            constraint: 'max_bytes',
          })
        : new ApiError(400, 'INVALID_REQUEST', 'The request is not valid HTTP.', { constraint: 'http' })
  const reasons: Record<number, string> = {
    400: 'Bad Request',
    408: 'Request Timeout',
    431: 'Request Header Fields Too Large',
  }
  const id = newRequestId()
  const body = JSON.stringify(known.toBody(id))
  const fields = Object.entries(known.toHeaders()).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(
    `HTTP/1.1 ${known.status} ${reasons[known.status]}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      fields.join('') +
      `x-content-type-options: nosniff\r\ncache-control: no-store\r\nx-request-id: ${id}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}
