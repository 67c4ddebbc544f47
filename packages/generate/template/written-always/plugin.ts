// The Fastify plugin: authenticates and validates a request, calls the handler of its operation, and sends
// the answer.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import glue from 'fastify-openapi-glue'
import { AnswerError, renderAnswer, type AnswerOptions, type AnyAnswer } from './answers.ts'
import { readForm } from './form.ts'
import { HttpError, type AllHandlers } from './handler.ts'
import { essenceOf, isJson, mediaFor } from './openapi/media-types.ts'
import type { RawParameters } from './openapi/parameters.ts'
import { patternOf } from './openapi/path-template.ts'
import { bodyLimit, operations, type OperationId, type OperationInfo } from './operations.ts'
import { skeleton } from './routes.ts'
import { requireValid } from './validation.ts'

const operationsByRoute = Map.groupBy<string, OperationInfo>(
  Object.values(operations),
  ({ method, url }) => `${method} ${url}`,
)

export interface ApiOptions {
  handlers: AllHandlers
  /** Called before the validation. @throws HttpError 401 or 403 if the request may not use the operation. */
  authenticate(request: FastifyRequest, operation: OperationInfo): Promise<void>
  /** The body of every error, and its media type. */
  errorBody(error: HttpError, request: FastifyRequest): { type: string; body: unknown }
  /**
   * Whether an answer that the contract does not declare becomes a 500, with a line in the log. The default
   * is true, unless NODE_ENV is `production`.
   */
  validateAnswers?: boolean
  /** The seconds without an event after which a stream of events sends a comment; default 15. */
  keepAliveSeconds?: number
}

/**
 * The operations of the contract: `app.register(api, { handlers, authenticate, errorBody })`, also with a
 * `prefix`. Its parsers of bodies and its errors are its own: other routes of the app keep theirs.
 */
export async function api(app: FastifyInstance, options: ApiOptions): Promise<void> {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, done) => done(null, body))
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const known = error instanceof HttpError ? error : new HttpError(error.statusCode ?? 500, error.message)
    if (known.status === 500) console.error(error instanceof AnswerError ? error.message : error)
    return sendError(options.errorBody(known, request), known.status, reply)
  })
  const { prefix } = app
  const { validateAnswers = process.env.NODE_ENV !== 'production', keepAliveSeconds = 15 } = options
  const rules = { isChecked: validateAnswers, keepAlive: keepAliveSeconds * 1000 }
  await app.register(glue, {
    specification: skeleton,
    operationResolver: (id) => {
      const { method, url, hasHead } = operations[id as OperationId]
      const own = operationsByRoute.get(`${method} ${url}`)!
      return {
        method,
        url,
        exposeHeadRoute: hasHead !== true,
        handler: async (request, reply) => {
          const operation = operationFor(own, request)
          await options.authenticate(request, operation)
          const given = await validRequest(operation, request, prefix)
          const handler = options.handlers[operation.id] as unknown as (request: object) => Promise<AnyAnswer>
          return send(operation, await handler(given), rules, reply)
        },
      }
    },
  })
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

/** The request as handlers get it. @throws HttpError 400 if it is not valid. */
async function validRequest(
  operation: OperationInfo,
  request: FastifyRequest,
  prefix: string,
): Promise<object> {
  const type = essenceOf(request.headers['content-type'] ?? '')
  const value = await parsedBody(operation, type, request)
  const parameters = requireValid(operation, rawParameters(operation, request, prefix), { value, type })
  const { path, query, header, cookie } = parameters
  return { path, query, headers: { ...request.headers, ...header }, cookies: cookie, body: value }
}

const patterns = new Map(Object.values(operations).map(({ id, template }) => [id, patternOf(template)]))

/**
 * As they were sent: the router has decoded its values, so that a comma and an encoded comma are the same.
 */
function rawParameters(
  { id, pathNames }: OperationInfo,
  { raw, headers }: FastifyRequest,
  prefix: string,
): RawParameters {
  const [path, query = ''] = raw.url!.slice(prefix.length).split(/\?(.*)/s)
  const values = patterns.get(id)!.exec(path) ?? []
  return { path: Object.fromEntries(pathNames.map((name, i) => [name, values[i + 1]])), query, headers }
}

async function parsedBody(
  operation: OperationInfo,
  type: string,
  { headers, body }: FastifyRequest,
): Promise<unknown> {
  // A file, a form or lines of JSON may be empty.
  if (!Buffer.isBuffer(body) || (body.length === 0 && (type === '' || isJson(type)))) return undefined
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

function send(
  operation: OperationInfo,
  answer: AnyAnswer,
  rules: AnswerOptions,
  reply: FastifyReply,
): FastifyReply {
  const { type, payload } = renderAnswer(operation, answer, rules)
  void reply.code(answer.status).headers(answer.headers ?? {})
  if (payload === undefined) return reply.send()
  if (type !== undefined && !reply.hasHeader('content-type')) void reply.header('content-type', type)
  return reply.send(payload)
}

export function sendError(
  { type, body }: { type: string; body: unknown },
  status: number,
  reply: FastifyReply,
): FastifyReply {
  return reply.code(status).header('content-type', type).send(JSON.stringify(body))
}
