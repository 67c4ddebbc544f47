// With FILES_URL, users' files have an origin of their own, so that a file can never act as a page of the
// API's origin. The operations with `x-files-origin` are all that the files' origin serves.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { notFound } from '../../infra/errors.ts'

type Done = (error?: Error) => void

/** 404 for everything but files at the host of FILES_URL. */
export function keepToFiles(app: FastifyInstance, filesUrl: string | null): void {
  if (filesUrl === null) return
  const filesHost = new URL(filesUrl).host
  app.addHook('onRequest', (request, _reply, done) => {
    const isFile = request.routeOptions.config.operation?.filesOrigin === true
    done(isFile || hostOf(request) !== filesHost ? undefined : (notFound('path') as never))
  })
}

/** The hook of an operation that serves files: redirects requests at another host to that of FILES_URL. */
export function filesOriginHooks(
  info: OperationInfo,
  filesUrl: string | null,
): Array<(request: FastifyRequest, reply: FastifyReply, done: Done) => void> {
  if (filesUrl === null || info.filesOrigin !== true) return []
  const filesHost = new URL(filesUrl).host
  return [
    (request, reply, done) => {
      // A redirect to another origin would lose the key, or the cookie of a browser's session.
      if (hostOf(request) === filesHost || request.principal !== null) return done()
      void reply
        .code(307)
        .headers({ location: filesUrl + request.url, 'cache-control': 'no-store' })
        .send()
    },
  ]
}

/** In lowercase, without the default port. */
function hostOf({ protocol, host }: FastifyRequest): string {
  return URL.parse(`${protocol}://${host}`)?.host ?? host
}
