// The server without its socket: every operation of the spec as a route, and what surrounds all of them.
import Fastify, {
  LogController,
  type FastifyError,
  type FastifyInstance,
  type FastifyRequest,
  type RouteOptions,
} from 'fastify'
import cors from '@fastify/cors'
import formbody from '@fastify/formbody'
import glue from 'fastify-openapi-glue'
import multipart from '@fastify/multipart'
import type { DestinationStream } from 'pino'
import { skeleton, handlers as allHandlers } from '../generated/routes.ts'
import { operations, type OperationId } from '../generated/operations.ts'
import type { Operations } from '../services/handler.ts'
import { methodNotAllowed, notFound, unsupportedMediaType } from '../infra/errors.ts'
import { newRequestId } from '../infra/ids.ts'
import { parseStrictJson } from '../infra/validation/strict-json.ts'
import type { Limits } from './http/rate-limit.ts'
import type { OperationInfo } from '../infra/contract/operation.ts'
import type { Services } from '../services/services.ts'
import { docsAssets } from './http/docs-assets.ts'
import type { EventStream } from './http/sse.ts'
import { answerClientError, answerError, bodyLimit } from './http/errors.ts'
import { bufferedOutput, createLog } from './logging.ts'
import { serveMetrics } from './metrics.ts'
import { operationsAt } from './http/operations-by-path.ts'
import { abandonBodies, watchBody } from './http/body-timeout.ts'
import { routeOf } from './http/route.ts'
import { overrideMethods } from './http/tus.ts'
import { fieldsType, isTypedTwice, takesFields } from './http/validation.ts'

export interface BuildOptions {
  services: Services
  limits: Limits
  /** Instead of the real ones, for tests of the edge itself. */
  handlers?: Operations
  logTo?: DestinationStream
}

/** The types of bodies that are nothing but bytes: their handlers read them while they arrive. */
const rawTypes = new Set(
  Object.values(operations).flatMap(({ body }) =>
    body?.streamed === true && body.form === undefined ? body.contentTypes : [],
  ),
)

/** What a client of resumable uploads in a browser has to see. */
const tusHeaders = [
  'Tus-Resumable',
  'Tus-Version',
  'Tus-Extension',
  'Tus-Max-Size',
  'Tus-Checksum-Algorithm',
  'Upload-Offset',
  'Upload-Length',
  'Upload-Metadata',
  'Upload-Expires',
  'Upload-File-Id',
]

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
}: BuildOptions): Promise<FastifyInstance> {
  const { config } = services
  const patience = {
    request: config.requestTimeout * 1000,
    upload: config.uploadTimeout * 1000,
    idle: 120_000,
  }
  const app = Fastify({
    loggerInstance: createLog(config.logLevel, logTo ?? bufferedOutput()),
    // The one line a request has is written by the hook below.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    requestIdHeader: false,
    genReqId: (raw) => requestId(raw.headers['x-request-id']),
    bodyLimit,
    trustProxy: config.trustProxy,
    // Of the body; a file takes longer than any other.
    requestTimeout: 0,
    // Streams send a ping more often.
    connectionTimeout: patience.idle,
    keepAliveTimeout: 72_000,
    http: { headersTimeout: Math.min(config.requestTimeout, 15) * 1000, connectionsCheckingInterval: 1_000 },
    clientErrorHandler: answerClientError,
    frameworkErrors: answerError,
    // During a stop what still arrives on open connections is served; the answer closes the connection.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: false, caseSensitive: true, maxParamLength: 500 },
  }) as unknown as FastifyInstance
  abandonBodies(app.server)
  overrideMethods(app.server)

  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      refuseOtherTypes(request, 'application/json')
      done(
        null,
        request.routeOptions.config.operation?.body?.raw === true ? body : parseStrictJson(body as Buffer),
      )
    } catch (error) {
      done(error as Error)
    }
  })

  // Streams have no end of their own that a stop could wait for; a client that does not read the end is not waited for.
  const streams = new Set<EventStream>()
  app.addHook('preClose', async () => {
    await services.tail.close()
    // Answers that are being written are waited for, and cut off in time to say so.
    void services.generations.close(config.shutdownTimeout * 500)
    setTimeout(() => {
      for (const stream of streams) if (stream.readableLength > 0) stream.destroy()
    }, 500).unref()
  })
  app.decorateRequest('principal', null)
  app.setErrorHandler(answerError)
  // Hooks of every request call back instead of making a promise each.
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    // Before anything of a body is read. An empty segment matches a parameter, but is no id.
    if (request.is404 || hasEmptySegment(request)) return done(unrouted(request))
    watchBody(request, reply, patience)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    request.log.info(
      {
        operation: request.routeOptions.config.operation?.id,
        method: request.method,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        user_id: request.principal?.userId,
        key_id: request.principal?.keyId,
        address: request.ip,
      },
      'request',
    )
    done()
  })
  if (config.metrics) serveMetrics(app)
  if (config.corsOrigins.length > 0) {
    await app.register(cors, {
      origin: config.corsOrigins,
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposedHeaders: [
        'Accept-Ranges',
        'Content-Disposition',
        'Content-Range',
        'Deprecation',
        'ETag',
        'Link',
        'Location',
        'RateLimit',
        'RateLimit-Policy',
        'Retry-After',
        'Sunset',
        'X-Request-ID',
        'Idempotent-Replayed',
        ...tusHeaders,
      ],
      maxAge: 600,
    })
  }

  const publicUrl = () => config.publicUrl ?? addressOf(app)
  checkComplete(handlers)
  const edge = { services, limits, publicUrl, streams }
  const routes = await routesOf(app, (id) => routeOf(operations[id], handlers[id] as never, edge))
  const serve = (scope: FastifyInstance, wanted: (info: OperationInfo) => boolean): void => {
    for (const route of routes) if (wanted(route.config!.operation!)) scope.route(route)
  }
  await app.register(async (scope) =>
    serve(scope, (info) => info.body?.streamed !== true && !takesFields(info)),
  )
  await app.register(async (scope) => {
    scope.removeContentTypeParser('application/json')
    scope.addHook('preParsing', async (request) => refuseOtherTypes(request, fieldsType))
    await scope.register(formbody)
    serve(scope, takesFields)
  })
  // Only where a body is streamed the parser of forms and its hooks are in the way. Where it may be JSON, that is parsed as everywhere.
  for (const json of [true, false]) {
    await app.register(async (scope) => {
      if (!json) scope.removeContentTypeParser('application/json')
      await scope.register(multipart)
      for (const type of rawTypes)
        scope.addContentTypeParser(type, (_request, body, done) => done(null, body))
      serve(
        scope,
        ({ body }) => body?.streamed === true && body.contentTypes.includes('application/json') === json,
      )
    })
  }
  docsAssets(app)
  return app
}

/** Where the server can be reached when PUBLIC_URL does not say. */
export function addressOf(app: FastifyInstance): string {
  const address = app.server.address()
  if (address === null || typeof address === 'string') return ''
  const host =
    address.family === 'IPv6'
      ? address.address === '::'
        ? 'localhost'
        : `[${address.address}]`
      : address.address === '0.0.0.0'
        ? 'localhost'
        : address.address
  return `http://${host}:${address.port}`
}

/** A client's own id when it is 1 to 128 printable ASCII characters, else a new one. */
function requestId(header: string | string[] | undefined): string {
  return typeof header === 'string' && /^[\x20-\x7e]{1,128}$/.test(header) ? header : newRequestId()
}

function refuseOtherTypes(request: FastifyRequest, type: string): void {
  if (isTypedTwice(request)) throw unsupportedMediaType([`${type}, said once`])
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)"?/i.exec(request.headers['content-type'] ?? '')?.[1]
  if (charset !== undefined && charset.toLowerCase() !== 'utf-8')
    throw unsupportedMediaType([`${type} in UTF-8`])
}

/** What glue makes of the skeleton. It compiles OpenAPI's own schema each time it is asked, so it is asked once, for the routes of all scopes. */
async function routesOf(
  app: FastifyInstance,
  operationResolver: (id: OperationId) => object,
): Promise<RouteOptions[]> {
  const routes: RouteOptions[] = []
  await app.register(async (scope) => {
    scope.route = ((route: RouteOptions) => routes.push(route)) as never
    await scope.register(glue, { specification: skeleton, operationResolver } as never)
  })
  return routes
}

/** The compiler knows this too; a start with a missing handler must fail, not its first request. */
function checkComplete(handlers: Operations): void {
  for (const [id, info] of Object.entries(operations)) {
    if (typeof handlers[id as OperationId] !== 'function')
      throw new Error(`operation ${id} has no handler in handlers/${info.tag}.ts`)
  }
}

function hasEmptySegment(request: FastifyRequest): boolean {
  const params = request.params as Record<string, string>
  for (const name in params) if (params[name] === '') return true
  return false
}

/** 405 with Allow where the path is known with another method, else 404. */
function unrouted(request: FastifyRequest): FastifyError {
  const allowed = new Set<string>(operationsAt(request.url).map(({ method }) => method))
  if (allowed.has('GET')) allowed.add('HEAD')
  return (allowed.size === 0
    ? notFound('path')
    : methodNotAllowed(request.method, [...allowed])) as unknown as FastifyError
}
