// The HTTP server: authenticates and validates a request, calls the handler of its operation, and sends the
// answer.
import { readFileSync } from 'node:fs'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import glue from 'fastify-openapi-glue'
import { authenticate } from '../authentication.ts'
import { errorBody } from '../errors.ts'
import { readForm } from './form.ts'
import { HttpError } from './handler.ts'
import { essenceOf, isJson, mediaFor } from './openapi/media-types.ts'
import type { RawParameters } from './openapi/parameters.ts'
import { patternOf } from './openapi/path-template.ts'
import { operations, type OperationId, type OperationInfo } from './operations.ts'
import { handlers, skeleton } from './routes.ts'
import { requireValid } from './validation.ts'

interface AnyAnswer {
  status: number
  type?: string
  headers?: Record<string, string>
  body?: unknown
}

const operationsByRoute = Map.groupBy<string, OperationInfo>(
  Object.values(operations),
  ({ method, url }) => `${method} ${url}`,
)
const contract = readFileSync(new URL('openapi.json', import.meta.url))

/** @returns a server that does not listen yet. */
export async function createServer(): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true, routerOptions: { maxParamLength: 5000 } })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const known = error instanceof HttpError ? error : new HttpError(error.statusCode ?? 500, error.message)
    if (known.status === 500) console.error(error)
    return sendError(known, request, reply)
  })
  app.setNotFoundHandler((request, reply) => sendError(new HttpError(404, 'Not found'), request, reply))
  if (!('/openapi.json' in skeleton.paths))
    app.get('/openapi.json', (_request, reply) => reply.type('application/json').send(contract))
  await app.register(glue, {
    specification: skeleton,
    operationResolver: (id) => {
      const { method, url, hasHead } = operations[id as OperationId]
      const own = operationsByRoute.get(`${method} ${url}`)!
      return {
        method,
        url,
        exposeHeadRoute: hasHead !== true,
        handler: async (request, reply) => await handle(operationFor(own, request), request, reply),
      }
    },
  })
  return app
}

/** Of operations whose paths differ in their query only, the one that the request has the most of. */
function operationFor(own: OperationInfo[], { query }: FastifyRequest): OperationInfo {
  const sent = query as Record<string, unknown>
  const [found] = own
    .filter(({ fixedQuery = [] }) => fixedQuery.every(([name, value]) => sent[name] === value))
    .sort((a, b) => (b.fixedQuery?.length ?? 0) - (a.fixedQuery?.length ?? 0))
  if (found === undefined) throw new HttpError(404, 'Not found')
  return found
}

async function handle(
  operation: OperationInfo,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  await authenticate(request, operation)
  const type = essenceOf(request.headers['content-type'] ?? '')
  const value = await parsedBody(operation, type, request)
  const parameters = requireValid(operation, rawParameters(operation, request), { value, type })
  const { path, query, header, cookie } = parameters
  const handler = handlers[operation.id] as unknown as (request: object) => Promise<AnyAnswer>
  const headers = { ...request.headers, ...header }
  const answer = await handler({ path, query, headers, cookies: cookie, body: value })
  return send(operation, answer, reply)
}

const patterns = new Map(Object.values(operations).map(({ id, template }) => [id, patternOf(template)]))

/**
 * As they were sent: the router has decoded its values, so that a comma and an encoded comma are the same.
 */
function rawParameters({ id, pathNames }: OperationInfo, { raw, headers }: FastifyRequest): RawParameters {
  const [path, query = ''] = raw.url!.split(/\?(.*)/s)
  const values = patterns.get(id)!.exec(path) ?? []
  return { path: Object.fromEntries(pathNames.map((name, i) => [name, values[i + 1]])), query, headers }
}

async function parsedBody(
  operation: OperationInfo,
  type: string,
  { headers, body }: FastifyRequest,
): Promise<unknown> {
  if (!Buffer.isBuffer(body) || body.length === 0) return undefined
  const form = mediaFor(operation.body?.media ?? [], type)?.form
  if (form !== undefined) return await readForm(headers['content-type']!, body, form)
  if (type === 'application/x-www-form-urlencoded') return formOf(new URLSearchParams(body.toString()))
  if (!isJson(type)) return body
  try {
    return JSON.parse(body.toString())
  } catch {
    throw new HttpError(400, 'The body is not valid JSON')
  }
}

/** A field that is sent more than once is a list. */
function formOf(fields: URLSearchParams): Record<string, string | string[]> {
  return Object.fromEntries(
    [...new Set(fields.keys())].map((name) => {
      const values = fields.getAll(name)
      return [name, values.length === 1 ? values[0] : values]
    }),
  )
}

function send(operation: OperationInfo, answer: AnyAnswer, reply: FastifyReply): FastifyReply {
  const { status, headers = {}, body } = answer
  const declared = operation.types[status] ?? operation.types[`${Math.floor(status / 100)}XX`]
  const type = answer.type ?? declared ?? operation.types.default
  void reply.code(status).headers(headers)
  if (body === undefined) return reply.send()
  if (type !== undefined && !reply.hasHeader('content-type')) void reply.header('content-type', type)
  const isRaw = typeof body === 'string' || Buffer.isBuffer(body)
  return reply.send(isRaw && type !== undefined && !isJson(type) ? body : JSON.stringify(body))
}

function sendError(error: HttpError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { type, body } = errorBody(error, request)
  return reply.code(error.status).header('content-type', type).send(JSON.stringify(body))
}
