// The span of each request, in the trace of the client that sent a `traceparent`.
import type { FastifyInstance } from 'fastify'
import { isTracing, startSpan, type Span } from '../../infra/telemetry/spans.ts'
import { loggedPath } from './request-log.ts'
import { endStatus } from './response-end.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null without OpenTelemetry. */
    span: Span | null
  }
}

/** Call it before other hooks are added: what they do belongs to the span. */
export function traceRequests(app: FastifyInstance): void {
  app.decorateRequest('span', null)
  if (!isTracing()) return
  app.addHook('onRequest', (request, _reply, done) => {
    const { operation } = request.routeOptions.config
    const { method } = request
    const { traceparent } = request.headers
    request.span = startSpan(operation === undefined ? method : `${method} ${operation.path}`, {
      kind: 'server',
      parent: typeof traceparent === 'string' ? traceparent : '',
      attributes: {
        'http.request.method': method,
        'http.route': operation?.path,
        'url.path': loggedPath(request.url),
        'url.scheme': request.protocol,
        'client.address': request.ip,
        'platform.operation': operation?.id,
        'platform.request_id': request.id,
      },
    })
    request.span!.run(done)
  })
  // The body has arrived in a context of its own.
  app.addHook('preHandler', (request, _reply, done) => request.span!.run(done))
  app.endHooks.push((request, reply) => {
    const { principal, answeredError, span } = request
    // A hook before those of the span has refused the request.
    if (span === null) return
    const status = endStatus(reply)
    span.set({
      'http.response.status_code': status,
      'user.id': principal?.userId,
      'platform.key_id': principal?.credentialId,
      'platform.error_code': answeredError?.code,
    })
    if (status >= 500) span.fail(String(status))
    span.end()
  })
}
