// With FILES_URL, users' files have an origin of their own, so that a file can never act as a page of the
// API's origin. The operations with `x-files-origin` are all that the files' origin serves.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { hostOf } from './hosts.ts'

type Done = (error?: Error) => void

/** The hook of an operation that serves files: redirects requests at another host to that of FILES_URL. */
export function filesOriginHooks(
  info: OperationInfo,
  filesUrl: string | null,
): Array<(request: FastifyRequest, reply: FastifyReply, done: Done) => void> {
  if (filesUrl === null || info.filesOrigin !== true) return []
  const isAtFilesHost = hostOf(filesUrl)
  return [
    (request, reply, done) => {
      // A redirect to another origin would lose the key, or the cookie of a browser's session.
      if (isAtFilesHost(request.host) || request.principal !== null) return done()
      void reply
        .code(307)
        .headers({ location: filesUrl + request.url, 'cache-control': 'no-store' })
        .send()
    },
  ]
}
