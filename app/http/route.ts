// The way of one request through its operation: security → validation → idempotency and preconditions → handler →
// serializer → ETag. Everything here follows from the operation's row in the generated table.
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { preconditionFailed, notAcceptable, unsupportedMediaType } from '../../infra/errors.ts'
import type { Db } from '../../infra/database/database.ts'
import type { Bytes, FilePart, OperationInfo } from '../../infra/contract/operation.ts'
import type { HandlerServices } from '../../services/handler.ts'
import type { Limits } from './rate-limit.ts'
import type { Services } from '../../services/services.ts'
import { accepts } from './content-negotiation.ts'
import { matches, noneMatches } from './etag.ts'
import { sendContent } from './byte-ranges.ts'
import { linkBeside, sayDeprecated } from './deprecation.ts'
import { fieldsLimit } from './errors.ts'
import { EventStream } from './sse.ts'
import { readForm } from './multipart.ts'
import { identify, once, Replayed, type KeyedRequest } from './idempotency.ts'
import { hasBody } from './body-timeout.ts'
import { entityTag, eventText, pageLinks, render, type Rendered } from './response.ts'
import { secure } from './authentication.ts'
import { isTus, requireTus, sayVersion } from './tus.ts'
import {
  isStreamed,
  isTypedTwice,
  requireMediaType,
  takesFields,
  validate,
  type Input,
} from './validation.ts'

type AnyHandler = (
  request: any,
  services: HandlerServices,
) => Promise<{ status: number; body?: any; headers?: Record<string, string> }>

export interface Edge {
  services: Services
  limits: Limits
  publicUrl: () => string
  /** The streams that are open. */
  streams: Set<EventStream>
}

/** The whole route of an operation, but for its method, which the skeleton gives. */
export function routeOf(
  info: OperationInfo,
  handler: AnyHandler,
  { services, limits, publicUrl, streams: open }: Edge,
): Partial<RouteOptions> {
  const {
    config,
    config: { validateResponses },
    database,
  } = services
  const plain: HandlerServices = { ...services, db: database, publicUrl }
  const writes = info.method !== 'GET'
  const streams = info.replies[200]?.events !== undefined
  const binary = info.replies[200]?.binary === true
  return {
    url: info.url,
    // What a browser asks before it sends is answered here too.
    config: {
      operation: info,
      ...(info.method === 'OPTIONS' && { cors: { strictPreflight: false, preflightContinue: true } }),
    },
    onRequest: [
      ...sayDeprecated(info, publicUrl),
      ...(info.rateLimit === null
        ? []
        : [...(isTus(info) ? [sayVersion] : []), secure(info, services, limits)]),
    ],
    ...(isTus(info) && { preParsing: requireTus }),
    ...(takesFields(info) && { bodyLimit: fieldsLimit }),
    handler: serve,
  }

  async function serve(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    requireAcceptance(request, info.produces)
    const streamed = isStreamed(info, request)
    const input = streamed ? await opened(request) : validate(info, request)
    const key = request.headers['idempotency-key'] as string | undefined
    if (streams) return await stream()
    // What is written says which request wrote it.
    const own = writes ? database.forRequest(request.id) : database
    if (binary) {
      const answer = await ask(own)
      if (answer.status === 200) return await sendBytes(answer.body)
      return send(request, reply, render(info, answer, validateResponses))
    }
    return send(
      request,
      reply,
      info.idempotent && info.remembers !== true && key !== undefined ? await keyed(key) : await run(own),
    )

    async function keyed(key: string): Promise<Rendered> {
      const keyedRequest = {
        principal: request.principal!,
        key,
        method: info.method,
        path: pathOf(request),
        body: sameness(request, input),
        secretAnswer: info.secretAnswer,
      }
      if (!streamed) return (await once(own, keyedRequest, (tx) => run(tx))).rendered
      try {
        return await run(onceArrived(own, keyedRequest))
      } catch (error) {
        if (error instanceof Replayed) return error.rendered
        throw error
      }
    }

    /**
     * A body that is still arriving cannot be told from another's, and no transaction waits for it: its key is looked up in the
     * one transaction in which the handler then makes its answer.
     */
    function onceArrived(db: Db, keyedRequest: KeyedRequest): Db {
      return withTransaction(db, async (work) => {
        let answer: any
        const { rendered, replayed } = await once(db, keyedRequest, async (tx) =>
          render(info, (answer = (await work(tx)) as any), validateResponses),
        )
        if (replayed) throw new Replayed(rendered)
        return answer
      })
    }

    async function sendBytes(content: Bytes): Promise<FastifyReply> {
      requireAcceptance(request, [content.type.split(';')[0]])
      reply.headers({
        'cache-control': info.scopes === null ? 'no-cache' : 'no-store',
        'content-security-policy': "default-src 'none'; sandbox",
      })
      return await sendContent(request, reply, content)
    }

    async function ask(db: Db): Promise<Awaited<ReturnType<AnyHandler>>> {
      const precondition =
        info.ifMatch === null ? unconditional : new Precondition(info, request.headers['if-match'])
      return await handler(
        {
          id: request.id,
          operation: info,
          params: input.params,
          query: input.query,
          headers: request.headers,
          body: input.body,
          principal: request.principal,
          keyed:
            info.remembers === true && key !== undefined
              ? identify({ key, method: info.method, path: pathOf(request), body: input.body })
              : null,
          get signal() {
            return gone(reply)
          },
          ifMatch: precondition.hold,
        },
        db === database ? plain : { ...services, db: precondition.guard(db), publicUrl },
      )
    }

    async function run(db: Db): Promise<Rendered> {
      const answer = await ask(db)
      const done = render(info, answer, validateResponses)
      if (info.paged)
        done.headers.link = pageLinks(
          publicUrl() + pathOf(request),
          input.query as Record<string, unknown>,
          answer.body.pagination,
        )
      return done
    }

    async function stream(): Promise<FastifyReply> {
      const { status, body, headers } = await ask(writes ? database.forRequest(request.id) : database)
      if (info.replies[status]?.events === undefined)
        throw new Error(`${info.id} answered ${status}, which the spec does not declare`)
      reply.code(status).headers({
        ...headers,
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      })
      // Without a length, as the stream itself.
      if (request.method === 'HEAD') return reply.send(Readable.from([]))
      const events = new EventStream({
        start: body,
        serialize: (event, data) => eventText(info, status, event, data as object, validateResponses),
        ping: config.streamPing * 1000,
        patience: config.streamWriteTimeout * 1000,
      })
      open.add(events)
      events.once('close', () => open.delete(events))
      return reply.send(events)
    }
  }

  /** The input of an operation whose body is still arriving: of a form the fields are there. */
  async function opened(request: FastifyRequest): Promise<Input> {
    const { form: declared } = info.body!
    if (declared === undefined) {
      const input = validate(info, request)
      const part: FilePart = { declaredType: request.headers['content-type'] ?? null, content: request.raw }
      return { ...input, body: request.body === undefined ? null : part }
    }
    // Says that it is missing.
    if (!hasBody(request.raw) || request.headers['content-length'] === '0') validate(info, request)
    if (isTypedTwice(request)) throw unsupportedMediaType(info.body!.contentTypes)
    requireMediaType(info, request)
    const form = await readForm(request, declared)
    // Held against the same rules as a name that is given.
    if (declared.named && form.filename !== undefined) form.fields.name ??= form.filename
    if (declared.named && form.file !== null && form.fields.name === undefined) {
      form.problems.push({
        field: 'name',
        constraint: 'required',
        message: 'name is required where the file has no filename',
        location: 'body',
      })
    }
    const input = validate(info, request, form)
    return { ...input, body: { ...(input.body as object), [declared.file]: form.file } }
  }

  /** What has to be the same where an Idempotency-Key is used again. */
  function sameness({ headers }: FastifyRequest, { body }: Input): unknown {
    return info.keyedHeaders === undefined ? body : info.keyedHeaders.map((name) => headers[name] ?? null)
  }

  function send(
    request: FastifyRequest,
    reply: FastifyReply,
    { status, headers, text }: Rendered,
  ): FastifyReply {
    // What belongs to a caller is in no cache; the contract may be kept and asked about. A handler may say what is stricter.
    reply.code(status).header('cache-control', info.scopes === null ? 'no-cache' : 'no-store')
    for (const name in headers)
      reply.header(name, name === 'link' ? linkBeside(reply, headers[name]) : headers[name])
    if (text === null) return reply.send()
    if (
      info.etag &&
      (request.method === 'GET' || request.method === 'HEAD') &&
      noneMatches(request.headers['if-none-match'], headers.etag)
    ) {
      return reply.code(304).removeHeader('content-type').send()
    }
    return reply.send(text)
  }
}

/** If-Match: held by the handler against the locked entity; a handler that forgets it cannot commit. */
class Precondition {
  #info: OperationInfo
  #header: string | undefined
  #held = false

  constructor(info: OperationInfo, header: string | undefined) {
    this.#info = info
    this.#header = header
  }

  hold = (entity: unknown): void => {
    this.#held = true
    if (this.#header !== undefined && !matches(this.#header, entityTag(this.#info, entity)))
      throw preconditionFailed()
  }

  get given(): boolean {
    return this.#header !== undefined
  }

  guard(db: Db): Db {
    if (!this.given) return db
    return withTransaction(db, (work) =>
      db.transaction(async (tx) => {
        const result = await work(tx)
        if (!this.#held) throw new Error(`${this.#info.id} never held If-Match against its entity`)
        return result
      }),
    )
  }
}

/** The same database with another way of running a transaction. */
function withTransaction(db: Db, transaction: Db['transaction']): Db {
  return {
    prisma: db.prisma,
    requestId: db.requestId,
    sql: (statement, values) => db.sql(statement, values),
    afterCommit: (effect) => db.afterCommit(effect),
    transaction,
  }
}

/** For an operation that takes no If-Match. */
const unconditional = { given: false, hold: () => {}, guard: (db: Db): Db => db }

/** Aborted when the connection is closed before the answer has been sent. */
function gone({ raw }: FastifyReply): AbortSignal {
  const left = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) left.abort()
  })
  if (raw.closed && !raw.writableFinished) left.abort()
  return left.signal
}

function pathOf(request: FastifyRequest): string {
  const end = request.url.indexOf('?')
  return end === -1 ? request.url : request.url.slice(0, end)
}

/** Throws 406 where Accept leaves none of the types. Where they are any, it is asked again when the one is known. */
function requireAcceptance({ headers }: FastifyRequest, types: string[]): void {
  if (types.length > 0 && !types.includes('*/*') && !accepts(headers.accept, types))
    throw notAcceptable(types)
}
