// What tus 1.0.0 asks of every request and answer of resumable uploads, refusals too, before their operations are asked.
import type { IncomingMessage, Server } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { invalidHeader, tusVersionMismatch, unsupportedMediaType } from '../../infra/errors.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { tusVersion } from '../../services/storage/uploads/tus.ts'
import { operationsAt } from './operations-by-path.ts'

type Done = (error?: Error) => void

const tag = 'storage-uploads'

/** Whether an operation is spoken in the protocol; asking what the server can do is not. */
export function isTus(info: OperationInfo): boolean {
  return info.tag === tag && info.method !== 'OPTIONS'
}

/** A hook: every answer says the version. */
export function sayVersion(_request: FastifyRequest, reply: FastifyReply, done: Done): void {
  reply.header('tus-resumable', tusVersion)
  done()
}

/** A hook before anything of the request is held against the spec: another version may mean anything by it. */
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
  const said = headers['tus-resumable']
  // Who only asks or gives up may do without.
  if (said === undefined ? operation!.body !== null : said !== tusVersion)
    return done(tusVersionMismatch(tusVersion))
  if (operation!.id === 'appendUpload' && headers['content-type'] === undefined)
    return done(unsupportedMediaType(operation!.body!.contentTypes))
  if (operation!.id === 'createUpload') {
    if (headers['upload-concat'] !== undefined)
      return done(
        invalidHeader(
          'Upload-Concat',
          'unsupported',
          'Uploads cannot be put together from several: send the file as one upload (without parallelUploads).',
        ),
      )
    if (headers['upload-defer-length'] !== undefined)
      return done(
        invalidHeader(
          'Upload-Defer-Length',
          'unsupported',
          'The length cannot come later: say Upload-Length.',
        ),
      )
  }
  // Some clients send a type with everything: of nothing it says nothing.
  if (
    request.method === 'POST' &&
    headers['content-length'] === '0' &&
    !operation!.body!.contentTypes.includes(headers['content-type']!)
  )
    delete headers['content-type']
  done()
}

/** Where a client or a proxy has neither PATCH nor DELETE, a POST says which of them it means. */
export function overrideMethods(server: Server): void {
  server.prependListener('request', (request: IncomingMessage) => {
    const meant = request.headers['x-http-method-override']
    if (request.method !== 'POST' || (meant !== 'PATCH' && meant !== 'DELETE')) return
    if (operationsAt(request.url!).some((info) => isTus(info) && info.method === meant))
      request.method = meant
  })
}
