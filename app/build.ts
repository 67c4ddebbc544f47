// The server without its socket: Fastify's settings, the hooks of every request, and the route of every
// operation.
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import Fastify, { LogController, type FastifyError, type FastifyInstance, type FastifyRequest } from 'fastify'
import type { DestinationStream, Logger } from 'pino'
import { handlers as allHandlers } from '../generated/routes.ts'
import type { Config } from '../infra/config/config.ts'
import type { OperationInfo } from '../infra/contract/operation.ts'
import { methodNotAllowed, notFound, type ApiError } from '../infra/errors.ts'
import { newRequestId } from '../infra/ids.ts'
import type { Telemetry } from '../infra/telemetry/start.ts'
import { authorizeReplay } from '../services/access.ts'
import type { Operations } from '../services/handler.ts'
import type { Services } from '../services/services.ts'
import { drainUnreadBodies, enforceBodyTimeout, type BodyTimeouts } from './http/body-timeout.ts'
import { networkOf } from '../services/users/client-network.ts'
import { allowOrigins } from './http/cors.ts'
import { serveConsole } from './http/console.ts'
import { serveDocsAssets } from './http/docs-assets.ts'
import { answerClientError, bodyLimit, createErrorHandler, type ErrorHandler } from './http/errors.ts'
import { checkHosts } from './http/hosts.ts'
import { addJsonParser } from './http/json-body.ts'
import { methodsOf, operationsAt, similarPath } from '../infra/contract/operations-by-path.ts'
import { servePipelinedInOrder } from './http/pipelining.ts'
import { countRequest, type RateLimits } from './http/rate-limit.ts'
import { answeredRequestId, repeatedField } from './http/request-headers.ts'
import { logRequest } from './http/request-log.ts'
import { traceRequests } from './http/request-spans.ts'
import { addEndHooks } from './http/response-end.ts'
import { registerRoutes } from './http/routes.ts'
import { securityHeaders } from './http/security-headers.ts'
import type { SseStream } from './http/sse.ts'
import { overrideMethods } from './http/tus.ts'
import { createLog, standardOutput } from './logging.ts'
import { addMetrics } from './metrics/serve.ts'
import { watchStalls } from './stalls.ts'

export interface BuildOptions {
  services: Services
  limits: RateLimits
  /** Replaces the real handlers, in tests of the HTTP layer. */
  handlers?: Operations
  logTo?: DestinationStream
  telemetry?: Telemetry | null
  /** Whether a stall of the main thread without an operation is logged now; default yes. */
  logsIdleStalls?: () => boolean
}

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: OperationInfo
  }
}

export async function buildApp({
  services,
  limits,
  handlers = allHandlers,
  logTo,
  telemetry = null,
  logsIdleStalls,
}: BuildOptions): Promise<FastifyInstance> {
  const { config } = services
  const timeouts: BodyTimeouts = {
    requestMs: config.requestTimeout * 1000,
    uploadMs: config.uploadTimeout * 1000,
    idleMs: 120_000,
  }
  const always = securityHeaders(config)
  const answerError = createErrorHandler(services.database.translateError, {
    always,
    signInUrl: config.signInUrl ?? '/sign-in',
  })
  const log = createLog(config.logLevel, logTo ?? (await standardOutput()), telemetry)
  const app = createFastify(config, { timeouts, answerError, log })
  servePipelinedInOrder(app.server)
  drainUnreadBodies(app.server)
  overrideMethods(app.server)
  addJsonParser(app)
  const streams = new Set<SseStream>()
  endStreamsOnClose(app, services, streams)
  app.decorateRequest('principal', null)
  app.decorateRequest('answeredError', null)
  app.decorateRequest('account', null)
  app.decorateRequest('work', null)
  app.decorateRequest('createdId', null)
  app.decorateRequest('projectId', null)
  app.decorateRequest('waits', null)
  addEndHooks(app)
  traceRequests(app)
  app.setErrorHandler(answerError)
  addRequestHooks(app, { timeouts, always, limits })
  closeConnectionsOnStop(app, services)
  if (limits.ping !== null) services.readiness.add('rate_limits', { run: limits.ping, required: false })
  useReadReplica(services)
  const metrics = addMetrics(app, services, telemetry)
  watchStalls(app, { onStall: metrics?.countStall, logsIdle: logsIdleStalls })
  await allowOrigins(app, config.corsOrigins)
  checkHosts(app, config)
  const publicUrl = () => config.publicUrl ?? addressOf(app)
  const filesUrl = () => config.filesUrl ?? publicUrl()
  await registerRoutes(app, handlers, {
    services,
    limits,
    publicUrl,
    filesUrl,
    streams,
    authorizeReplay,
  })
  serveDocsAssets(app, limits, { publicUrl, console: config.console })
  if (config.console) serveConsole(app, limits, config)
  return app
}

function useReadReplica({ readReplica, readiness }: Services): void {
  if (!readReplica) return
  readReplica.start()
  readiness.add('read_replica', { run: () => readReplica.requireUsable(), required: false })
}

function createFastify(
  config: Config,
  {
    timeouts: { idleMs },
    answerError,
    log,
  }: { timeouts: BodyTimeouts; answerError: ErrorHandler; log: Logger },
): FastifyInstance {
  return Fastify({
    loggerInstance: log,
    // An end hook writes the one log line of a request.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    requestIdHeader: false,
    genReqId: newRequestId,
    bodyLimit,
    trustProxy: config.trustProxy,
    // body-timeout.ts enforces the time of a body, since an upload may take longer than other requests.
    requestTimeout: 0,
    // Event streams send a ping more often than this.
    connectionTimeout: idleMs,
    keepAliveTimeout: 72_000,
    http: { headersTimeout: Math.min(config.requestTimeout, 15) * 1000, connectionsCheckingInterval: 1_000 },
    clientErrorHandler: answerClientError,
    frameworkErrors: answerError,
    // During shutdown, requests on open connections are still served; their responses close the connection.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: false, caseSensitive: true, maxParamLength: 500 },
  }) as unknown as FastifyInstance
}

/**
 * At shutdown, event streams end, and running generations get half of the shutdown time-out. Clients that do
 * not read are disconnected.
 */
function endStreamsOnClose(app: FastifyInstance, services: Services, streams: Set<SseStream>): void {
  app.addHook('preClose', async () => {
    await services.eventStreams.close()
    // Running generations complete, or are cut off early enough to notify the client.
    void services.generations.close(services.config.shutdownTimeout * 500)
    setTimeout(() => {
      for (const stream of streams) if (stream.readableLength > 0) stream.destroy()
    }, 500).unref()
    await acceptWaitingConnections(app.server)
  })
}

/**
 * The end of the listening socket resets the connections that wait to be accepted, although their clients may
 * have sent a request. So it ends right after a short turn of the event loop that accepted none. Each attempt
 * follows a pause: the kernel lets a process that has slept run for a while, but interrupts one that has
 * spun.
 */
async function acceptWaitingConnections(server: FastifyInstance['server']): Promise<void> {
  let accepted = 0
  const count = (): void => {
    accepted++
  }
  server.on('connection', count)
  const deadline = performance.now() + 1_000
  for (let quiet = false; !quiet && performance.now() < deadline;) {
    await sleep(1)
    const [before, began] = [accepted, performance.now()]
    await nextTurn()
    quiet = accepted === before && performance.now() - began < 0.5
  }
  server.off('connection', count)
}

/**
 * When the server no longer listens, each response closes its connection: the next request goes to
 * another server. Not before, because a proxy without health checks would then open a connection for each
 * request, and some would wait in the queue of the listening socket at its end.
 */
function closeConnectionsOnStop(app: FastifyInstance, { readiness }: Services): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (readiness.stopping && !app.server.listening) reply.header('connection', 'close')
    done(null, payload)
  })
}

function addRequestHooks(
  app: FastifyInstance,
  {
    timeouts,
    always,
    limits,
  }: { timeouts: BodyTimeouts; always: Record<string, string>; limits: RateLimits },
): void {
  // Callbacks instead of promises: these hooks run for every request.
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', answeredRequestId(request))
    reply.headers(always)
    // Checked before the body is read. The router matches an empty path segment to a parameter, but an empty
    // id is never valid.
    const repeated = repeatedField(request.raw)
    if (repeated !== null) return done(repeated as unknown as FastifyError)
    if (request.is404 || hasEmptySegment(request)) {
      // oxlint-disable-next-line promise/no-callback-in-promise -- see above
      countRequest(limits, reply, 'address', networkOf(request.ip)).then(() => done(unrouted(request)), done)
      return
    }
    enforceBodyTimeout(request, reply, timeouts)
    done()
  })
  app.endHooks.push(logRequest)
}

/** The URL of this server when PUBLIC_URL is not set; empty before it listens. */
export function addressOf(app: FastifyInstance): string {
  const bound = app.server.address()
  if (bound === null || typeof bound === 'string') return ''
  const { address, family, port } = bound
  if (address === '::' || address === '0.0.0.0') return `http://localhost:${port}`
  return family === 'IPv6' ? `http://[${address}]:${port}` : `http://${address}:${port}`
}

function hasEmptySegment(request: FastifyRequest): boolean {
  const params = request.params as Record<string, string>
  for (const name in params) if (params[name] === '') return true
  return false
}

/** 405 with Allow when the path has other methods, else 404. */
function unrouted(request: FastifyRequest): FastifyError {
  const allowed = new Set<string>(operationsAt(request.url).flatMap(methodsOf))
  if (allowed.has('GET')) allowed.add('HEAD')
  const error = allowed.size === 0 ? noSuchPath(request.url) : methodNotAllowed(request.method, [...allowed])
  return error as unknown as FastifyError
}

function noSuchPath(url: string): ApiError {
  const similar = similarPath(url)
  if (similar === null) return notFound('path')
  return notFound('path', undefined, { message: `There is no such path. Did you mean ${similar}?` })
}
