// The mock server: returns the declared responses of each operation and rejects invalid requests.
// It can forward operations to a real server of this API.
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import replyFrom from '@fastify/reply-from'
import {
  invalidRequest,
  methodNotAllowed,
  notFound,
  unauthorized,
  type ApiError,
} from '../../infra/errors.ts'
import { newRequestId } from '../../infra/ids.ts'
import { parseStrictJson } from '../../infra/validation/strict-json.ts'
import { patternOf } from '../../infra/validation/path-template.ts'
import { operationsOf, type Operation } from '../generate/model.ts'
import { routerUrl } from '../generate/types.ts'
import { answerOf, preferenceOf } from './answers.ts'
import { withExamples } from './patterns.ts'
import { createRequestCheck } from './requests.ts'

type Json = any

export interface MockOptions {
  /** The bundled document from `readContract`. */
  document: Json
  /** The URL of a real server, without a trailing slash. Its operations are forwarded. */
  real?: string
  /** Called with a log line per request. */
  onAnswer?: (line: string) => void
}

/** Returns a server that does not listen yet. Throws if the real server's OpenAPI document cannot be read. */
export async function createMock({
  document: contract,
  real,
  onAnswer = () => {},
}: MockOptions): Promise<FastifyInstance> {
  const document = withExamples(contract)
  const app = Fastify({
    forceCloseConnections: true,
    genReqId: ({ headers }) =>
      typeof headers['x-request-id'] === 'string' ? headers['x-request-id'] : newRequestId(),
  })
  const has = real === undefined ? new Set<string>() : await operationsAt(real)
  const problemsOf = createRequestCheck(document)
  const operations = operationsOf(document)
  if (real !== undefined) await app.register(replyFrom, { base: real })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body)
  })
  app.addHook('onSend', async (request, reply) => {
    reply.headers({
      'x-request-id': request.id,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    })
  })
  app.setErrorHandler((error, request, reply) => answerError(error as ApiError, request, reply))
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0]
    const allowed = operations
      .filter((operation) => patternOf(operation.fullPath).test(path))
      .flatMap(methodsOf)
    return answerError(
      allowed.length === 0 ? notFound('path') : methodNotAllowed(request.method, allowed),
      request,
      reply,
    )
  })
  for (const operation of operations) {
    const isReal = has.has(operation.id)
    app.route({
      method: methodsOf(operation),
      url: routerUrl(operation.fullPath),
      async handler(request, reply) {
        onAnswer(`${request.method} ${request.url} → ${isReal ? real : 'mock'} (${operation.id})`)
        return isReal
          ? reply.from(request.url, { body: request.body as Buffer })
          : answer(operation, request, reply)
      },
    })
  }
  return app

  function answer(operation: Operation, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    if (
      operation.scopes !== null &&
      !operation.keyOptional &&
      !/^Bearer \S/.test(request.headers.authorization ?? '')
    )
      throw unauthorized('missing')
    const { isPossiblePath, problems } = problemsOf(operation, {
      path: request.params as Record<string, string>,
      query: { ...(request.query as object) },
      header: { ...request.headers },
      body: bodyOf(operation, request),
    })
    const declared = document.paths[operation.path][operation.method]
    const preference = preferenceOf(request.headers.prefer as string | undefined)
    if (problems.length > 0 && preference.code === undefined) throw invalidRequest(problems)
    if (!isPossiblePath && preference.code === undefined) throw notFound('resource')
    let made
    try {
      made = answerOf(document, declared, preference)
    } catch (error) {
      throw invalidRequest([
        { field: 'Prefer', constraint: 'declared', message: (error as Error).message, location: 'header' },
      ])
    }
    const { status, contentType, headers, body } = made
    reply.code(status).headers(headers)
    if (contentType === null) return reply.send()
    return reply
      .header(
        'content-type',
        contentType.startsWith('text/') || contentType === 'application/json'
          ? `${contentType}; charset=utf-8`
          : contentType,
      )
      .send(body)
  }
}

function bodyOf({ body }: Operation, request: FastifyRequest): unknown {
  if (body === null || !Buffer.isBuffer(request.body) || request.body.length === 0) return undefined
  const type = (request.headers['content-type'] ?? '').split(';')[0].trim().toLowerCase()
  return type === 'application/json'
    ? parseStrictJson(request.body)
    : type === 'application/x-www-form-urlencoded'
      ? Object.fromEntries(new URLSearchParams(request.body.toString()))
      : undefined
}

function answerError(error: ApiError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status = 500, code = 'SERVER_ERROR', message, details = {}, headers = {} } = error
  return reply
    .code(status)
    .headers(headers)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify({ error: { code, message, details: { ...details, request_id: request.id } } }))
}

/** The ids of the operations of a running server. */
async function operationsAt(real: string): Promise<Set<string>> {
  const response = await fetch(`${real}/openapi.json`)
  if (!response.ok) throw new Error(`${real}/openapi.json returned ${response.status}`)
  const { paths } = (await response.json()) as Json
  return new Set(
    Object.values<Json>(paths)
      .flatMap((item) => Object.values<Json>(item))
      .map((operation) => operation?.operationId)
      .filter((id) => id !== undefined),
  )
}

function methodsOf({ method, acceptsPatch }: Operation): string[] {
  return acceptsPatch ? [method.toUpperCase(), 'PATCH'] : [method.toUpperCase()]
}
