// The rules of tus 1.0.0 that apply to every request and response of resumable uploads, errors included.
import type { IncomingMessage, Server } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, invalidHeader, unsupportedMediaType } from '../../infra/errors.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { tusVersion } from '../../services/storage/uploads/tus.ts'
import { operationsAt } from '../../infra/contract/operations-by-path.ts'

type Done = (error?: Error) => void

const tag = 'storage-uploads'

/**
 * Whether an operation follows the tus protocol. OPTIONS does not: it announces the server's capabilities.
 */
export function isTus(info: OperationInfo): boolean {
  return info.tag === tag && info.method !== 'OPTIONS'
}

/** An onRequest hook: every response carries Tus-Resumable. */
export function tusVersionHook(_request: FastifyRequest, reply: FastifyReply, done: Done): void {
  reply.header('tus-resumable', tusVersion)
  done()
}

/**
 * A preParsing hook. It runs before validation, since another protocol version may give the headers another
 * meaning.
 */
export function requireTus(
  request: FastifyRequest,
  _reply: FastifyReply,
  _payload: unknown,
  done: Done,
): void {
  const {
    headers,
    routeOptions: {
      config: { operation },
    },
  } = request
  const version = headers['tus-resumable']
  // Tus-Resumable is optional for requests without a body (HEAD, DELETE).
  if (version === undefined ? operation!.body !== null : version !== tusVersion)
    return done(versionMismatch())
  if (operation!.method === 'PATCH' && headers['content-type'] === undefined)
    return done(unsupportedMediaType(operation!.body!.contentTypes))
  if (operation!.method === 'POST') {
    if (headers['upload-concat'] !== undefined)
      return done(
        invalidHeader(
          'Upload-Concat',
          'unsupported',
          'Concatenation is not supported; send the file as one upload (without parallelUploads).',
        ),
      )
    if (headers['upload-defer-length'] !== undefined)
      return done(
        invalidHeader(
          'Upload-Defer-Length',
          'unsupported',
          '`Upload-Defer-Length` is not supported; send `Upload-Length`.',
        ),
      )
  }
  // Ignore Content-Type on an empty body; some clients always send it.
  if (
    request.method === 'POST' &&
    headers['content-length'] === '0' &&
    !operation!.body!.contentTypes.includes(headers['content-type']!)
  )
    delete headers['content-type']
  done()
}

/** The request has another version of the tus protocol, or none. */
function versionMismatch(): ApiError {
  return new ApiError(
    412,
    'PRECONDITION_FAILED',
    `Send the header Tus-Resumable: ${tusVersion}.`,
    { field: 'Tus-Resumable', constraint: 'version' },
    { 'tus-version': tusVersion },
  )
}

/** X-HTTP-Method-Override: a POST stands for PATCH or DELETE where a client or proxy lacks these methods. */
export function overrideMethods(server: Server): void {
  server.prependListener('request', (request: IncomingMessage) => {
    const override = request.headers['x-http-method-override']
    if (request.method !== 'POST' || (override !== 'PATCH' && override !== 'DELETE')) return
    if (operationsAt(request.url!).some((info) => isTus(info) && info.method === override))
      request.method = override
  })
}
