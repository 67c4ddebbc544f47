// The mock server: returns the declared responses of each operation of any OpenAPI document, rejects invalid
// requests, and keeps what its clients create. It can forward operations to a real server.
import { randomUUID } from 'node:crypto'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import replyFrom from '@fastify/reply-from'
import { addDiscriminatorValues } from '@platform-api/openapi/discriminators.ts'
import { patternOf } from '@platform-api/openapi/path-template.ts'
import {
  isJson,
  operationsOf,
  pathNames,
  responseFor,
  type Credential,
  type Operation,
} from '@platform-api/openapi/document.ts'
import { createValidation } from '@platform-api/contract/validation.ts'
import { essenceOf, isForm } from '@platform-api/openapi/media-types.ts'
import { decoded, readParameters } from '@platform-api/openapi/parameters.ts'
import { withMergedParts } from '@platform-api/openapi/merge-parts.ts'
import { withResourceIds } from '@platform-api/openapi/resource-ids.ts'
import { answerOf, declaredOf, isValid, preferenceOf, type MockAnswer, type Source } from './answers.ts'
import { etagOf, matches, unlessMatched, withEtag } from './conditions.ts'
import {
  invalidRequest,
  methodNotAllowed,
  notFound,
  preconditionFailed,
  unauthorized,
  unsupportedMediaType,
  type MockError,
} from './errors.ts'
import { readForm } from './forms.ts'
import { withExamples } from './patterns.ts'
import { openapi, type MockProfile } from './profile.ts'
import { createRequestCheck, mediaFor } from './requests.ts'
import { createStoredResources } from './stored-resources.ts'

type Json = any

export interface MockOptions {
  /** The bundled document in version 3.1. */
  document: Json
  /** Of the generated ids and values; default 1. */
  seed?: number
  /** Default: what OpenAPI says. */
  profile?: MockProfile
  /** The only key that is accepted; default: any. */
  key?: string
  /** The URL of a real server, without a trailing slash. Its operations are forwarded. */
  real?: string
  /** Called with a log line per request. */
  onAnswer?: (line: string) => void
}

interface Route {
  operation: Operation
  pattern: RegExp
  names: string[]
  /** Values that the query must have: some documents have paths such as `/items?beta=true`. */
  fixed: Array<[name: string, value: string]>
}

/** Returns a server that does not listen yet. Throws if the real server's OpenAPI document cannot be read. */
export async function createMock({
  document: contract,
  seed = 1,
  profile = openapi,
  key,
  real,
  onAnswer = () => {},
}: MockOptions): Promise<FastifyInstance> {
  const merged = withMergedParts(contract)
  addDiscriminatorValues(merged)
  const document = withExamples(withResourceIds(merged))
  const app = Fastify({
    forceCloseConnections: true,
    bodyLimit: maxBodyBytes,
    genReqId: ({ headers }) =>
      typeof headers['x-request-id'] === 'string'
        ? headers['x-request-id']
        : `req_${randomUUID().replaceAll('-', '')}`,
  })
  const has = real === undefined ? new Set<string>() : await operationsAt(real)
  const source: Source = { document, validation: createValidation(document, { closed: false }), seed }
  const problemsOf = createRequestCheck(document, profile)
  const answers = new Map<string, MockAnswer>()
  const repeatable = new Map<string, MockAnswer>()
  const operations = operationsOf(document)
  const resources = createStoredResources(source, operations)
  const routes = routesOf(operations)
  if (real !== undefined) await app.register(replyFrom, { base: real })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body)
  })
  app.addHook('onSend', async (request, reply) => {
    reply.headers({
      ...(!reply.hasHeader('x-request-id') && { 'x-request-id': request.id }),
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    })
  })
  app.setErrorHandler((error: MockError & { statusCode?: number }, request, reply) => {
    // Fastify refuses a Content-Type that is no media type.
    const known = error.statusCode === 415 ? unsupportedMediaType(['of a media type']) : error
    return answerError(known, null, request, reply)
  })
  app.all('*', async (request, reply) => {
    const path = request.url.split('?')[0]
    const sent = request.query as Record<string, unknown>
    const here = routes.filter(
      ({ pattern, fixed }) => pattern.test(path) && fixed.every(([name, value]) => sent[name] === value),
    )
    const route = here.find(({ operation }) => methodsOf(operation, profile).includes(methodOf(request)))
    if (route === undefined) {
      const allowed = here.flatMap(({ operation }) => methodsOf(operation, profile))
      const error = here.length === 0 ? notFound('path') : methodNotAllowed(request.method, allowed)
      return answerError(error, null, request, reply)
    }
    const { operation } = route
    const isReal = has.has(operation.id)
    onAnswer(`${request.method} ${request.url} → ${isReal ? real : 'mock'} (${operation.id})`)
    if (isReal) return reply.from(request.url, { body: request.body as Buffer })
    try {
      return send(await answer(route, path, request), reply)
    } catch (error) {
      return answerError(error as MockError, operation, request, reply)
    }
  })
  return app

  async function answer(
    { operation, pattern, names, fixed }: Route,
    url: string,
    request: FastifyRequest,
  ): Promise<MockAnswer> {
    if (!isAllowed(operation, request, key)) {
      const accepted = operation.security.flat()
      const isMissing = accepted.every((credential) => keyIn(request, credential) === '')
      throw unauthorized(accepted, isMissing ? 'missing' : 'unknown')
    }
    const preference = preferenceOf(request.headers.prefer as string | undefined)
    if (preference.code !== undefined || preference.example !== undefined) {
      try {
        return answerOf(source, operation, preference)
      } catch (error) {
        throw invalidRequest([
          { field: 'Prefer', constraint: 'declared', message: (error as Error).message, location: 'header' },
        ])
      }
    }
    const type = essenceOf(request.headers['content-type'] ?? '')
    const keys = [
      ...operation.security
        .flat()
        .filter((each) => each.in === 'query')
        .map(({ name }) => name),
      ...fixed.map(([name]) => name),
    ]
    const [, queryText = ''] = /^[^?]*\?(.*)$/s.exec(request.url) ?? []
    const isKey = (pair: string): boolean => keys.some((name) => pair === name || pair.startsWith(`${name}=`))
    const raw = Object.fromEntries(names.map((name, i) => [name, pattern.exec(url)![i + 1]]))
    const read = readParameters(operation.parameters, {
      path: raw,
      query: queryText
        .split('&')
        .filter((pair) => !isKey(decoded(pair)))
        .join('&'),
      headers: request.headers,
    })
    const path = Object.fromEntries(
      names.map((name) => [name, String(read.path[name] ?? decoded(raw[name]))]),
    )
    const query = read.query
    const given = {
      ...read,
      header: { ...request.headers, ...read.header },
      type,
      body: await bodyOf(operation, type, request),
    }
    const { isPossiblePath, problems } = problemsOf(operation, given)
    if (problems.length > 0) throw invalidRequest(problems)
    if (operation.body !== null && type !== '' && mediaFor(operation, type) === undefined)
      throw unsupportedMediaType(operation.body.media.map((each) => each.type))
    const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
    const file = type === '' || isJson(type) || isForm(type) ? undefined : { type, bytes }
    const stored = { operation, url, path, query, body: given.body, file }
    if (!isPossiblePath || resources.isGone(stored)) throw notFound('resource')
    requireMatch(operation, request, () => {
      const read = operations.find((each) => each.method === 'GET' && each.path === operation.path)
      if (read === undefined) return undefined
      const asked = { ...stored, operation: read, query: {}, body: undefined }
      return etagOf(withEtag(resources.apply(asked, usualAnswer(read))))
    })
    const answer = onceFor(request, operation, () =>
      withEtag(resources.apply(stored, usualAnswer(operation))),
    )
    return unlessMatched(operation, request.headers['if-none-match'], answer)
  }

  /** The first answer again, if the request repeats one with the same `Idempotency-Key`, where declared. */
  function onceFor(
    { url, headers, body }: FastifyRequest,
    operation: Operation,
    make: () => MockAnswer,
  ): MockAnswer {
    const key = headers['idempotency-key']
    if (key === undefined || !operation.parameters.some(({ name }) => /^idempotency-key$/i.test(name)))
      return make()
    const sent = JSON.stringify([operation.method, url, key, String(body ?? '')])
    if (!repeatable.has(sent)) repeatable.set(sent, make())
    return repeatable.get(sent)!
  }

  /** @throws MockError 412 if `If-Match` names another ETag than the current one. */
  function requireMatch(
    { method, parameters, responses }: Operation,
    { headers }: FastifyRequest,
    current: () => string | undefined,
  ): void {
    const field = headers['if-match']
    const isDeclared = responses.has(412) || parameters.some(({ name }) => name.toLowerCase() === 'if-match')
    if (field === undefined || method === 'GET' || !isDeclared) return
    const etag = current()
    if (etag !== undefined && !matches(field, etag)) throw preconditionFailed()
  }

  /** The answer does not depend on the request; `apply` does not change it. */
  function usualAnswer(operation: Operation, code?: number): MockAnswer {
    const name = `${operation.method} ${operation.path} ${code}`
    if (!answers.has(name)) answers.set(name, answerOf(source, operation, { code }))
    return answers.get(name)!
  }

  function send({ status, contentType, headers, body }: MockAnswer, reply: FastifyReply): FastifyReply {
    reply.code(status).headers(headers)
    if (contentType === null) return reply.send()
    const isText = contentType.startsWith('text/') || contentType === 'application/json'
    return reply
      .header('content-type', isText ? `${contentType}; charset=utf-8` : contentType)
      .send(isJson(contentType) ? JSON.stringify(body) : body)
  }

  /** The error in the shape of the mock, where the contract allows that; else as the contract declares it. */
  function answerError(
    error: MockError,
    operation: Operation | null,
    request: FastifyRequest,
    reply: FastifyReply,
  ): FastifyReply {
    const { status: own = 500, code = 'SERVER_ERROR', message, details = {}, headers = {} } = error
    const status = operation === null ? own : declaredOf(operation, alternatives[own] ?? [own])
    const body = profile.errorBody({ status: own, code, message, details }, request.id)
    const declared = operation === null ? undefined : responseFor(operation, status)
    const media = declared?.media.find(({ type }) => isJson(type))
    if (declared !== undefined && (media === undefined || !isValid(source.validation, media, body))) {
      const answer = usualAnswer(operation!, status)
      return send({ ...answer, headers: { ...headers, ...answer.headers } }, reply)
    }
    return send({ status, contentType: media?.type ?? 'application/json', headers, body }, reply)
  }

  async function bodyOf(operation: Operation, type: string, request: FastifyRequest): Promise<unknown> {
    const isForm = type === 'application/x-www-form-urlencoded'
    // A form without fields has no bytes.
    if (!Buffer.isBuffer(request.body) || request.body.length === 0) return isForm ? {} : undefined
    if (isJson(type)) return profile.parseJson(request.body)
    const media = mediaFor(operation, type)
    if (media !== undefined && type.startsWith('text/')) return request.body.toString()
    if (media === undefined || !(isForm || type === 'multipart/form-data')) return undefined
    try {
      return await readForm(document, media, request.headers['content-type']!, request.body)
    } catch (error) {
      throw invalidRequest([
        { field: 'body', constraint: 'form', message: (error as Error).message, location: 'body' },
      ])
    }
  }
}

const maxBodyBytes = 2 ** 25

/** The statuses that a contract may declare instead. */
const alternatives: Record<number, number[]> = {
  400: [400, 422],
  401: [401, 403],
  404: [404, 410, 400, 422],
  415: [415, 400, 422],
}

/** The routes in the order in which they are tried: fixed segments before parameters. */
function routesOf(operations: Operation[]): Route[] {
  return operations
    .map((operation) => {
      const [path, query] = operation.path.split('#')[0].split('?')
      return {
        operation,
        pattern: patternOf(path),
        names: pathNames(path),
        fixed: [...new URLSearchParams(query)],
      }
    })
    .sort((a, b) => a.names.length - b.names.length || b.fixed.length - a.fixed.length)
}

/** Whether the request has all credentials of an alternative of the operation's security. */
function isAllowed({ security }: Operation, request: FastifyRequest, key: string | undefined): boolean {
  return (
    security.length === 0 ||
    security.some((credentials) =>
      credentials.every((credential) => {
        const sent = keyIn(request, credential)
        return key === undefined ? sent !== '' : sent === key
      }),
    )
  )
}

/** The key at the place of the credential; empty if there is none. */
function keyIn({ query, headers }: FastifyRequest, { in: where, name, scheme }: Credential): string {
  if (where === 'query') {
    const value = (query as Record<string, unknown>)[name]
    return typeof value === 'string' ? value : ''
  }
  if (where === 'cookie') {
    const cookies = (headers.cookie ?? '').split(';').map((cookie) => cookie.trim())
    const own = cookies.find((cookie) => cookie.startsWith(`${name}=`)) ?? ''
    return decoded(own.slice(name.length + 1))
  }
  const value = String(headers[name.toLowerCase()] ?? '').trim()
  if (scheme === 'plain') return value
  const [, sent = ''] = new RegExp(`^${scheme} +(\\S.*)$`, 'i').exec(value) ?? []
  return scheme === 'basic' ? Buffer.from(sent, 'base64').toString() : sent
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

const methodOf = ({ method }: FastifyRequest): string => (method === 'HEAD' ? 'GET' : method)

function methodsOf({ method, item }: Operation, profile: MockProfile): string[] {
  return method === 'PUT' && profile.acceptsPatch(item) ? ['PUT', 'PATCH'] : [method]
}
