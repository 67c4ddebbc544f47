// The request pipeline of one operation: authentication and rate limit → validation → idempotency and
// preconditions → handler → serializer → ETag. The operation's row in the generated table configures them.
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Bytes, OperationInfo } from '../../infra/contract/operation.ts'
import { Replay, type Once } from '../../infra/contract/replay.ts'
import type { Db, SqlClient } from '../../infra/database/database.ts'
import { notAcceptable, requestTimeout, type ApiError } from '../../infra/errors.ts'
import type { HandlerServices } from '../../services/handler.ts'
import type { Services } from '../../services/services.ts'
import { actorOf } from '../../services/users/authentication.ts'
import { includeUsers } from '../../services/users/included-users.ts'
import { authenticate, refreshPrincipal } from './authentication.ts'
import { sendBytes } from './byte-ranges.ts'
import { accepts, preferredType, varyBy } from './content-negotiation.ts'
import { noteRefusal } from '../../services/events/reached-limits.ts'
import { appendLink, deprecationHooks } from './deprecation.ts'
import { bodyLimit, fieldsLimit } from './errors.ts'
import { noneMatches } from './etag.ts'
import { originOf } from './origin.ts'
import { filesOriginHooks } from './files-origin.ts'
import {
  idempotencyFingerprint,
  withIdempotency,
  type AuthorizeReplay,
  type IdempotentRequest,
} from './idempotency.ts'
import { preconditionOf } from './preconditions.ts'
import { receiveInTurns } from './json-body.ts'
import type { RateLimits } from './rate-limit.ts'
import { nameReference } from './references.ts'
import { noteWait } from './waits.ts'
import { clientRequestId, requireIdentityCoding } from './request-headers.ts'
import {
  eventText,
  headersOf,
  pageLinks,
  render,
  type HandlerAnswer,
  type RenderedResponse,
} from './response.ts'
import { atEnd } from './response-end.ts'
import { SseStream } from './sse.ts'
import { Lazy } from '../../infra/concurrency/lazy.ts'
import { sendStatic, staticContent, type StaticContent } from './static-content.ts'
import { countUpload, readStreamedInput } from './streamed-body.ts'
import { isTus, requireTus, tusVersionHook } from './tus.ts'
import { isStreamed, takesFields, validate, type Input } from './validation.ts'

type AnyHandler = (request: any, services: HandlerServices) => Promise<HandlerAnswer>

/** Other requests may last for minutes, and have limits of their own: uploads, answers of AI models. */
const countedPolicies = new Set<string | null>(['default', 'write'])

/** What the routes of all operations share. */
export interface RouteContext {
  services: Services
  limits: RateLimits
  publicUrl: () => string
  /** The URL at which clients reach the files of users: FILES_URL, or `publicUrl`. */
  filesUrl: () => string
  /** The open event streams. */
  streams: Set<SseStream>
  authorizeReplay: AuthorizeReplay
}

/**
 * The Fastify route of an operation, without its method: that comes from the skeleton (see routes.ts).
 */
export class OperationRoute {
  readonly info: OperationInfo
  readonly handler: AnyHandler
  readonly context: RouteContext
  /** The services of the handler, without those of a request. */
  readonly services: Omit<HandlerServices, 'db' | 'once' | 'lists'>
  readonly #writes: boolean
  readonly #answersEvents: boolean
  readonly #answersBytes: boolean
  /** The response of an operation with `x-static`. */
  #content: Lazy<StaticContent> | undefined

  constructor(info: OperationInfo, handler: AnyHandler, context: RouteContext) {
    const { services, limits: rateLimits, publicUrl, filesUrl } = context
    this.info = info
    this.handler = handler
    this.context = context
    this.services = { ...services, publicUrl, filesUrl, rateLimits }
    this.#writes = info.method !== 'GET'
    this.#answersEvents = info.replies[200]?.events !== undefined
    this.#answersBytes = info.replies[200]?.binary === true
  }

  options(): Omit<RouteOptions, 'method'> {
    const { info } = this
    const { services, limits, publicUrl } = this.context
    const authentication = info.rateLimit === null ? [] : [authenticate(info, services, limits)]
    return {
      url: info.url,
      // An OPTIONS operation of the spec is answered by its handler, not by the CORS plugin alone.
      config: {
        operation: info,
        ...(info.method === 'OPTIONS' && { cors: { strictPreflight: false, preflightContinue: true } }),
      },
      onRequest: [
        ...deprecationHooks(info, publicUrl),
        ...(isTus(info) ? [tusVersionHook] : []),
        ...authentication,
        ...(info.body === null ? [] : [requireIdentityCoding]),
        ...filesOriginHooks(info, services.config.filesUrl),
      ],
      ...(isTus(info) ? { preParsing: requireTus } : info.body !== null && { preParsing: receiveInTurns }),
      bodyLimit: takesFields(info) ? fieldsLimit : (info.body?.maxBytes ?? bodyLimit),
      handler: (request, reply) => this.#serve(request, reply),
    }
  }

  async #serve(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { info } = this
    requireAcceptable(request, info.produces)
    if (info.produces.length > 1) varyBy(reply, 'accept')
    const streamed = isStreamed(info, request)
    if (streamed) countUpload(this.context.services.openUploads, request, reply)
    const input = streamed ? await readStreamedInput(info, request) : validate(info, request)
    if (this.#writes) await refreshPrincipal(info, this.context.services, request)
    const work = this.#work(request, reply, input, streamed)
    request.work = work
    const send = await work
    return await send()
  }

  async #work(request: FastifyRequest, reply: FastifyReply, input: Input, streamed: boolean): Promise<Send> {
    const send = await this.#counted(request, streamed, () => this.#answer(request, reply, input))
    // The lists that the user reads next must have what the request wrote.
    const user = request.principal?.userId
    if (user !== undefined && this.#writes) await this.context.services.readReplica?.noteWrite(user)
    return send
  }

  /** Counts the open requests of the account. Streams are counted only until they are open. */
  async #counted(request: FastifyRequest, streamed: boolean, answer: () => Promise<Send>): Promise<Send> {
    const { openRequests } = this.context.services
    const account = request.principal?.accountId
    try {
      if (account === undefined || streamed || !countedPolicies.has(this.info.rateLimit))
        return await answer()
      openRequests.add(account)
      return await answer().finally(() => openRequests.remove(account))
    } catch (error) {
      await this.#noteRefusal(request, error)
      throw error
    }
  }

  async #answer(request: FastifyRequest, reply: FastifyReply, input: Input): Promise<Send> {
    const { info } = this
    const { database } = this.context.services
    const call = new OperationCall(this, request, reply, input)
    let hasStarted = false
    const onTurn = (waitedMs: number): void => {
      noteWait(request, 'connection', waitedMs)
      // Nothing is lost: the client has gone while the request waited.
      if (!hasStarted && reply.raw.closed) throw requestTimeout()
      hasStarted = true
    }
    const db = database.forRequest({ ...requestOriginOf(request), onTurn })
    if (this.#answersEvents) return await call.respondWithEvents(db)
    if (this.#answersBytes) return await call.respondWithBytes(db)
    if (info.static === true) {
      this.#content ??= new Lazy(() => call.staticContent(db))
      const content = await this.#content.get()
      return () => sendStatic(request, reply, content)
    }
    const replica = this.#replicaFor(request)
    if (replica !== null) {
      const response = await call.respondFromReplica(db, replica)
      return () => call.send(response)
    }
    const response = call.isStored && !call.isStreamed ? await call.respondOnce(db) : await call.respond(db)
    return () => call.send(response)
  }

  /** Emits an event if the request was refused because of a limit. The refusal is answered in any case. */
  async #noteRefusal(request: FastifyRequest, error: unknown): Promise<void> {
    const { database, events } = this.context.services
    const origin = requestOriginOf(request)
    const db = database.forRequest(origin)
    const refusal = database.translateError(error)
    await noteRefusal({ db, events }, refusal, origin.accountId).catch((err: unknown) =>
      request.log.warn({ err }, 'the event limit.reached could not be emitted'),
    )
  }

  /** The read replica, if the operation may use it and it has everything that the user wrote. */
  #replicaFor({ principal }: FastifyRequest): SqlClient | null {
    const { readReplica } = this.context.services
    if (this.info.readReplica !== true || readReplica === null || principal === null) return null
    return readReplica.serves(principal.userId) ? readReplica.lists : null
  }
}

/** Events record the request and the API key that caused them. */
function requestOriginOf(request: FastifyRequest) {
  const { id, principal } = request
  return {
    id,
    clientRequestId: clientRequestId(request),
    actor: actorOf(principal),
    accountId: principal?.accountId ?? null,
  }
}

/** Sends the answer. A function, because awaiting a reply waits until all of it is sent. */
type Send = () => FastifyReply | Promise<FastifyReply>

/** One request to an operation, from its validated input to its response. */
class OperationCall {
  readonly idempotencyKey: string | undefined
  /** Whether the response is stored with the Idempotency-Key. */
  readonly isStored: boolean
  readonly isStreamed: boolean
  #route: OperationRoute
  #request: FastifyRequest
  #reply: FastifyReply
  #input: Input

  constructor(route: OperationRoute, request: FastifyRequest, reply: FastifyReply, input: Input) {
    this.#route = route
    this.#request = request
    this.#reply = reply
    this.#input = input
    this.idempotencyKey = request.headers['idempotency-key'] as string | undefined
    const { info } = route
    this.isStored = this.idempotencyKey !== undefined && info.idempotent && info.handlesIdempotency !== true
    this.isStreamed = isStreamed(info, request)
  }

  /** Calls the handler and serialises its answer. */
  async respond(db: Db, lists: SqlClient = db): Promise<RenderedResponse> {
    const { info } = this.#route
    const answer = await this.#callHandler(db, lists)
    if (answer instanceof Replay) return answer
    const response = this.#render(answer)
    if (info.includes !== undefined) await this.#includeUsers(db, answer, response)
    if (info.paged) {
      const query = this.#input.query as Record<string, unknown>
      response.headers.link = pageLinks(this.#origin + this.#path, query, answer.body.pagination)
    }
    return response
  }

  /** Adds the users of `include` to the response. It keeps the ETag that it has without them. */
  async #includeUsers(db: Db, answer: HandlerAnswer, response: RenderedResponse): Promise<void> {
    const { info, context } = this.#route
    const { include: names } = this.#input.query as { include?: string[] }
    if (names === undefined) return
    const principal = this.#request.principal!
    const includes = info.includes!
    const resources = info.paged ? answer.body.data : [answer.body]
    await includeUsers(db, resources, { principal, includes, names, origin: context.filesUrl() })
    response.text = this.#render(answer).text
  }

  /**
   * Responds with lists of the read replica. After any error the database answers: the replica may be away,
   * or lack the rows that the request names.
   */
  async respondFromReplica(db: Db, replica: SqlClient): Promise<RenderedResponse> {
    try {
      return await this.respond(db, replica)
    } catch {
      return await this.respond(db)
    }
  }

  /** The answer of an operation with `x-static`, which is the same for every request. */
  async staticContent(db: Db): Promise<StaticContent> {
    const { headers, text } = await this.respond(db)
    return await staticContent(text!, { 'cache-control': 'no-cache', ...headers })
  }

  /** Responds once per Idempotency-Key. */
  async respondOnce(db: Db): Promise<RenderedResponse> {
    return await withIdempotency(db, this.#idempotentRequest(), (tx) => this.respond(tx))
  }

  /** No transaction waits for a body that is still arriving: its handler looks up the key after it. */
  #once(db: Db): Once {
    if (!this.isStored || !this.isStreamed) return (work) => db.transaction(work)
    return async (work) => {
      let answer: any
      const stored = await withIdempotency(db, this.#idempotentRequest(), async (tx) => {
        answer = await work(tx)
        return this.#render(answer)
      })
      return stored instanceof Replay ? stored : answer
    }
  }

  /** Answers with bytes: whole, a range of them, or 304. */
  async respondWithBytes(db: Db): Promise<Send> {
    const { info } = this.#route
    const answer = await this.#callHandler(db)
    if (answer.status !== 200) return this.#sendRendered(answer)
    const content = answer.body as Bytes
    this.#reply.headers({
      'cache-control': info.scopes === null ? 'no-cache' : 'no-store',
      'content-security-policy': "default-src 'none'; sandbox",
    })
    return () => sendBytes(this.#request, this.#reply, content)
  }

  /** Answers with server-sent events. */
  async respondWithEvents(db: Db): Promise<Send> {
    const { info, context } = this.#route
    const { config } = context.services
    const answer = await this.#callHandler(db)
    const { status, body } = answer
    if (typeof body !== 'function') return this.#sendRendered(answer)
    if (info.replies[status]?.events === undefined)
      throw new Error(`${info.id} answered ${status}, which the spec does not declare`)
    this.#reply.code(status).headers({
      ...headersOf(answer),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    // An empty stream has no Content-Length, as the stream of a GET has none.
    if (this.#request.method === 'HEAD') return () => this.#reply.send(Readable.from([]))
    const stream = new SseStream({
      start: body,
      end: info.replies[status].streamEnd,
      serialize: (event, data) => eventText(info, status, event, data as object, config.validateResponses),
      pingMs: config.streamPing * 1000,
      writeTimeoutMs: config.streamWriteTimeout * 1000,
    })
    context.streams.add(stream)
    stream.once('close', () => context.streams.delete(stream))
    return () => this.#reply.send(stream)
  }

  #sendRendered(answer: HandlerAnswer): Send {
    const response = this.#render(answer)
    return () => this.send(response)
  }

  send({ status, headers, text }: RenderedResponse): FastifyReply {
    const { info } = this.#route
    const { method, headers: sent } = this.#request
    const reply = this.#reply
    // Personal data stays out of every cache; public answers may be stored and revalidated. A handler may set
    // less.
    reply.code(status).header('cache-control', info.scopes === null ? 'no-cache' : 'no-store')
    for (const name in headers)
      reply.header(name, name === 'link' ? appendLink(reply, headers[name]) : headers[name])
    if (text === null) return reply.send()
    const isRead = method === 'GET' || method === 'HEAD'
    if (info.etag && isRead && noneMatches(sent['if-none-match'], headers.etag))
      return reply.code(304).removeHeader('content-type').send()
    return reply.send(text)
  }

  async #callHandler(db: Db, lists: SqlClient = db): Promise<HandlerAnswer> {
    const { info, handler, services } = this.#route
    const { params, query, body } = this.#input
    const request = this.#request
    const reply = this.#reply
    const precondition = preconditionOf(info, request.headers['if-match'])
    const guarded = precondition.guard(db)
    const call = handler(
      {
        id: request.id,
        clientRequestId: clientRequestId(request),
        operation: info,
        isHead: request.method === 'HEAD',
        params,
        query,
        headers: request.headers,
        body,
        acceptedType: preferredType(request.headers.accept, info.produces),
        principal: request.principal,
        ip: request.ip,
        identify: (userId: string, credentialId: string | null = null) => {
          request.account = { userId, credentialId }
        },
        noteProject: (id: string) => {
          request.projectId ??= id
        },
        noteCreated: (id: string) => {
          request.createdId = id
        },
        noteError: (error: ApiError) => {
          request.answeredError = error
        },
        idempotency: this.#handlerFingerprint(),
        // Not a getter: V8 would keep a hidden class for each request, and by it the request, until a full
        // garbage collection.
        signal: () => abortOnDisconnect(reply),
        ifMatch: precondition.check,
      },
      { ...services, db: guarded, once: this.#once(guarded), lists },
    )
    return await call.catch((error) => {
      throw nameReference(error, this.#input)
    })
  }

  /** For a handler that stores its own idempotency record. */
  #handlerFingerprint() {
    const key = this.idempotencyKey
    if (this.#route.info.handlesIdempotency !== true || key === undefined) return null
    const { method } = this.#route.info
    const { query, body } = this.#input
    return idempotencyFingerprint({ key, method, path: this.#path, query: query as object, body })
  }

  #idempotentRequest(): IdempotentRequest {
    const { info: operation, context } = this.#route
    return {
      operation,
      principal: this.#request.principal!,
      key: this.idempotencyKey!,
      method: operation.method,
      path: this.#path,
      params: this.#input.params as Record<string, string>,
      query: this.#input.query as object,
      body: this.#idempotencyBody(),
      authorizeReplay: context.authorizeReplay,
    }
  }

  /** The part of the request that a repeated Idempotency-Key must match: the body, or the listed headers. */
  #idempotencyBody(): unknown {
    const { idempotencyHeaders } = this.#route.info
    if (idempotencyHeaders === undefined) return this.#input.body
    return idempotencyHeaders.map((name) => this.#request.headers[name] ?? null)
  }

  #render(answer: HandlerAnswer): RenderedResponse {
    const { info, context } = this.#route
    const response = render(info, answer, context.services.config.validateResponses)
    const { location } = response.headers
    // Handlers name a path of this server.
    if (location?.startsWith('/')) response.headers.location = this.#origin + location
    return response
  }

  get #origin(): string {
    const { services, publicUrl } = this.#route.context
    return originOf(this.#request, services.config.publicUrl, publicUrl)
  }

  /** The path of the URL, without the query. */
  get #path(): string {
    const { url } = this.#request
    const end = url.indexOf('?')
    return end === -1 ? url : url.slice(0, end)
  }
}

/** A signal that aborts when the client disconnects before it has the response. */
function abortOnDisconnect(reply: FastifyReply): AbortSignal {
  const disconnected = new AbortController()
  atEnd(reply, () => {
    if (!reply.raw.writableFinished) disconnected.abort()
  })
  return disconnected.signal
}

/**
 * Throws 406 when Accept excludes all of the types. Streams, bytes and pages are sent to every client,
 * because many clients send `Accept: application/json` with all requests.
 */
function requireAcceptable({ headers }: FastifyRequest, types: string[]): void {
  if (types.includes('application/json') && !accepts(headers.accept, types)) throw notAcceptable(types)
}
