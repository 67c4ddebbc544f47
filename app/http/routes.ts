// Registers the route of every operation. fastify-openapi-glue turns the spec's skeleton into routes; this
// module decides in which scope each of them runs, because the operations differ in the body parsers that
// they need.
import formbody from '@fastify/formbody'
import multipart from '@fastify/multipart'
import type { FastifyInstance, RouteOptions } from 'fastify'
import glue from 'fastify-openapi-glue'
import { operations, type OperationId } from '../../generated/operations.ts'
import { skeleton } from '../../generated/routes.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Operations } from '../../services/handler.ts'
import { requireOneUtf8Type } from './json-body.ts'
import { methodsOf } from '../../infra/contract/operations-by-path.ts'
import { OperationRoute, type RouteContext } from './route.ts'
import { fieldsType, takesFields } from './validation.ts'

/** The media types of bodies of plain bytes, which handlers read while they arrive. */
const binaryTypes = new Set(
  Object.values(operations).flatMap(({ body }) =>
    body?.streamed === true && body.form === undefined ? body.contentTypes : [],
  ),
)

/** @throws when an operation has no handler. */
export async function registerRoutes(
  app: FastifyInstance,
  handlers: Operations,
  context: RouteContext,
): Promise<void> {
  requireAllHandlers(handlers)
  const routes = (await glueRoutes()).map(({ id }) => ({
    method: methodsOf(operations[id]) as RouteOptions['method'],
    ...new OperationRoute(operations[id], handlers[id] as never, context).options(),
  }))
  const register = (scope: FastifyInstance, belongs: (info: OperationInfo) => boolean): void => {
    for (const route of routes) if (belongs(route.config!.operation!)) scope.route(route)
  }

  // JSON bodies and no bodies: the parser of the whole app.
  await app.register(async (scope) =>
    register(scope, (info) => info.body?.streamed !== true && !takesFields(info)),
  )
  // Forms without a file, from pages.
  await app.register(async (scope) => {
    scope.removeContentTypeParser('application/json')
    scope.addHook('preParsing', async (request) => requireOneUtf8Type(request, fieldsType))
    await scope.register(formbody)
    register(scope, takesFields)
  })
  // Streamed bodies. The multipart plugin and its hooks run for these alone; those that also take JSON parse
  // it as usual.
  for (const takesJson of [true, false]) {
    await app.register(async (scope) => {
      if (!takesJson) scope.removeContentTypeParser('application/json')
      await scope.register(multipart)
      for (const type of binaryTypes)
        scope.addContentTypeParser(type, (_request, body, done) => done(null, body))
      register(
        scope,
        ({ body }) => body?.streamed === true && body.contentTypes.includes('application/json') === takesJson,
      )
    })
  }
}

type GlueRoute = Pick<RouteOptions, 'method' | 'url'> & { id: OperationId }

let recorded: Promise<GlueRoute[]> | undefined

/** The routes that glue makes of the skeleton, not registered yet; once per process. */
function glueRoutes(): Promise<GlueRoute[]> {
  return (recorded ??= recordRoutes())
}

/**
 * Glue registers all routes of a document in one scope, and compiles OpenAPI's own schema (0.2 s of CPU) each
 * time it runs, so it runs once, on an object that records the routes. Of the instance that it is given, glue
 * uses what this object has: `register`, `route` and `hasContentTypeParser`.
 */
async function recordRoutes(): Promise<GlueRoute[]> {
  const routes: GlueRoute[] = []
  const recorder = {
    hasContentTypeParser: () => true,
    route: ({ method, url, id }: GlueRoute) => routes.push({ method, url, id }),
    register: async (plugin: (instance: unknown) => Promise<void>) => await plugin(recorder),
  }
  const plugin = glue as unknown as (instance: unknown, options: object) => Promise<void>
  await plugin(recorder, { specification: skeleton, operationResolver: (id: OperationId) => ({ id }) })
  return routes
}

/** The compiler checks this too. A missing handler must stop the start, not the first request. */
function requireAllHandlers(handlers: Operations): void {
  for (const [id, info] of Object.entries(operations)) {
    if (typeof handlers[id as OperationId] !== 'function')
      throw new Error(`operation ${id} has no handler in handlers/${info.tag}.ts`)
  }
}
