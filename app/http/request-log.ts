// The line in the log that each request ends with.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { traceIds } from '../logging.ts'
import { clientRequestId } from './request-headers.ts'
import { endStatus } from './response-end.ts'
import { loggedWaits } from './waits.ts'

/** Ids and names of resources. API keys and the tokens of file links are longer. */
const logged = '(?!plat_)[\\w.~-]{0,36}'
const loggedSegment = new RegExp(`^${logged}$`)
const loggedWhole = new RegExp(`^(?:/${logged})+$`)
const maxPath = 300

const healthChecks = new Set(['getHealth', 'getReadiness'])

/** An end hook. Successful health checks, which come every second, are logged at the level debug. */
export function logRequest(request: FastifyRequest, reply: FastifyReply): void {
  const { operation } = request.routeOptions.config
  const status = endStatus(reply)
  const isQuiet = operation !== undefined && healthChecks.has(operation.id) && status < 400
  request.log[isQuiet ? 'debug' : 'info'](
    {
      client_request_id: clientRequestId(request),
      ...traceIds(request.span?.traceparent),
      operation: operation?.id,
      method: request.method,
      path: loggedPath(request.url),
      status,
      code: request.answeredError?.code,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      waited_ms: loggedWaits(request),
      user_id: request.principal?.userId,
      key_id: request.principal?.credentialId,
      address: request.ip,
    },
    'request',
  )
}

/** The path without its query. Segments that may be secrets or personal data are left out. */
export function loggedPath(url: string): string {
  const [path] = url.split(/[?#]/, 1)
  if (path.length <= maxPath && loggedWhole.test(path)) return path
  const shown = path.replace(/[^/]+/g, (segment) => (loggedSegment.test(segment) ? segment : '…'))
  return shown.slice(0, maxPath)
}
