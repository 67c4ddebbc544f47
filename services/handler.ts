// The types of handlers: the request that a handler gets, and the responses that it may return. They are
// derived from generated/types.ts, so an undeclared status or a wrong body does not compile.
import type { RateLimitReader } from '../infra/contract/rate-limits.ts'
import type { components, operations } from '../generated/types.ts'
import type {
  BinaryOperationId,
  FormFiles,
  KeyOptionalOperationId,
  OperationsByTag,
  PublicOperationId,
  RawOperationId,
  StreamedOperationId,
  StreamEvents,
  Tag,
} from '../generated/operations.ts'
import type { Db, SqlClient } from '../infra/database/database.ts'
import type { ApiError } from '../infra/errors.ts'
import type {
  Bytes,
  FilePart,
  FormWithFile,
  IdempotencyFingerprint,
  OperationInfo,
  SentEvent,
} from '../infra/contract/operation.ts'
import type { Query } from '../infra/contract/query.ts'
import type { Once, Replay } from '../infra/contract/replay.ts'
import type { Principal } from './users/authentication.ts'
import type { Services } from './services.ts'

type OperationId = keyof operations
type ErrorBody = components['schemas']['ErrorResponse']
type Content<R> = R extends { content: infer C } ? C[keyof C] : undefined
type JsonContent<R> = R extends { content: { 'application/json': infer J } } ? J : never
type Declared<Id extends OperationId> = operations[Id]['responses']
type Reply<S, B, H> = undefined extends B ? { status: S } & H : { status: S; body: B } & H

/**
 * The header fields of an answer: `location` is required where the spec declares it. `replayed` says that an
 * earlier request with the same Idempotency-Key was answered so.
 */
type HeaderFields<R> = (R extends { headers: { Location: unknown } }
  ? { headers: { location: string; [name: string]: string } }
  : { headers?: Record<string, string> }) & { replayed?: boolean }

/** An event stream. The HTTP layer starts it, and aborts the signal when the client disconnects. */
type Streamed<Events> = (signal: AbortSignal) => AsyncIterable<SentEvent<Events>>

/** The statuses that the HTTP layer sends itself: a byte range, and Not Modified. */
type HttpLayerStatus = 206 | 304

/** The responses that a handler may return. It throws errors; the HTTP layer sends 206 and 304. */
export type Answer<Id extends OperationId> = {
  [S in Exclude<keyof Declared<Id>, HttpLayerStatus>]: [
    Extract<Content<Declared<Id>[S]>, ErrorBody>,
  ] extends [never]
    ? Reply<
        S,
        Id extends keyof StreamEvents
          ? Streamed<StreamEvents[Id]> | JsonContent<Declared<Id>[S]>
          : S extends 200
            ? Id extends BinaryOperationId
              ? Bytes
              : Content<Declared<Id>[S]>
            : Content<Declared<Id>[S]>,
        HeaderFields<Declared<Id>[S]>
      >
    : never
}[Exclude<keyof Declared<Id>, HttpLayerStatus>]

type Parameters<
  Id extends OperationId,
  Place extends 'path' | 'header',
> = operations[Id]['parameters'] extends { [P in Place]?: infer V } ? NonNullable<V> : Record<string, never>

type RequestBody<Id extends OperationId> = Id extends keyof FormFiles
  ? FormBody<operations[Id], FormFiles[Id]> | JsonBody<operations[Id]>
  : Id extends RawOperationId
    ? Buffer
    : Id extends StreamedOperationId
      ? operations[Id] extends { requestBody: unknown }
        ? FilePart
        : FilePart | null
      : DeclaredBody<Id>

type FormBody<O, File extends string> = O extends {
  requestBody: { content: { 'multipart/form-data': infer F } }
}
  ? FormWithFile<Omit<F, File>>
  : never

type JsonBody<O> = O extends { requestBody: { content: { 'application/json': infer J } } } ? J : never

type DeclaredBody<Id extends OperationId> = operations[Id] extends { requestBody: { content: infer C } }
  ? C[keyof C]
  : operations[Id] extends { requestBody?: { content: infer C } }
    ? C[keyof C]
    : undefined

/** A validated request, as passed to the handler. */
export interface Request<Id extends OperationId> {
  /** The id that the server gave the request, as in the log. */
  id: string
  /** The `X-Request-ID` of the client. */
  clientRequestId: string | undefined
  operation: OperationInfo
  /** Whether a GET is a HEAD: the answer has no body. */
  isHead: boolean
  params: Parameters<Id, 'path'>
  query: Query<Id>
  /** The declared header fields; their names are in lower case. */
  headers: {
    [K in keyof Parameters<Id, 'header'> as K extends string ? Lowercase<K> : never]: Parameters<
      Id,
      'header'
    >[K]
  }
  body: RequestBody<Id>
  /** The media type of the successful responses that the client prefers; undefined without a body. */
  acceptedType: string | undefined
  principal: Id extends PublicOperationId
    ? null
    : Id extends KeyOptionalOperationId
      ? Principal | null
      : Principal
  /** The address of the client. */
  ip: string
  /**
   * Names the account that a request without a key is about, for the audit log: also if the request fails.
   * The answer must not depend on it.
   */
  identify(userId: string, credentialId?: string): void
  /** Names the project to whose usage the request counts: the first. The caller is a member. */
  noteProject(id: string): void
  /** Names what the request created, for the audit log, where no Location of the answer does. */
  noteCreated(id: string): void
  /**
   * Records the error that a page shows, or leaves out, in place of answering with it: for logs and the audit
   * log.
   */
  noteError(error: ApiError): void
  /** Digests of the Idempotency-Key and of the body; null unless the operation has `handlesIdempotency`. */
  idempotency: IdempotencyFingerprint | null
  /** Aborts when the client disconnects before it has the response. */
  signal(): AbortSignal
  /**
   * Compares If-Match with the ETag that the GET operation would return for `entity`. Call it after the row
   * is locked and before the row changes; the HTTP layer refuses to commit a transaction without this call.
   * @throws 412 when the ETags differ.
   */
  ifMatch(entity: unknown): void
}

/** The services of a handler. `db` is the database, or the transaction that the HTTP layer has opened. */
export type HandlerServices = Services & {
  db: Db
  once: Once
  /** Runs the lists of operations with `x-read-replica`: on the read replica, else on `db`. */
  lists: SqlClient
  /** The URL at which clients reach this server, without a trailing slash. */
  publicUrl: () => string
  rateLimits: RateLimitReader
  /** The URL at which clients reach files, links and avatars; `publicUrl` unless FILES_URL is set. */
  filesUrl: () => string
}

export type Handler<Id extends OperationId> = (
  request: Request<Id>,
  services: HandlerServices,
) => Promise<Answer<Id> | (Id extends StreamedOperationId | keyof FormFiles ? Replay : never)>

/** The handler module of a tag: one handler for each operation. */
export type Handlers<T extends Tag> = { [Id in OperationsByTag[T]]: Handler<Id> }

/**
 * The properties of the answers that the spec does not declare. TypeScript allows those of a spread; this
 * type finds them where the answer's own type still has them.
 */
type Undeclared<Given, Declared> = Given extends Primitive
  ? never
  : Given extends (...args: never) => unknown
    ? never
    : Given extends readonly (infer Item)[]
      ? Undeclared<Item, Extract<Declared, readonly unknown[]>[number]>
      : Given extends object
        ? {
            [K in keyof Given & string]: K extends NamesOf<Declared>
              ? Undeclared<Given[K], ValueOf<Declared, K>>
              : K
          }[keyof Given & string]
        : never

type Primitive = string | number | boolean | bigint | symbol | null | undefined | Date | Buffer
/** The property names of each member of a union; `string` for a map. */
type NamesOf<T> = T extends object ? keyof T : never
type ValueOf<T, K extends PropertyKey> = T extends object ? (K extends keyof T ? T[K] : never) : never

type BodyOf<T> = T extends { body: infer B } ? B : never

/** `true`, or what the handler answers beyond the spec. */
type Exactness<Id, Given> = Id extends OperationId
  ? [Undeclared<BodyOf<Given>, BodyOf<Answer<Id>>>] extends [never]
    ? true
    : `${Id} answers \`${Undeclared<BodyOf<Given>, BodyOf<Answer<Id>>>}\`, which the spec does not declare`
  : true

/** `true` for a handler of the module that answers only what the spec declares. */
export type Exact<Module, Id extends OperationId> = Id extends keyof Module
  ? Module[Id] extends (...args: never) => Promise<infer Given>
    ? Exactness<Id, Given>
    : true
  : true

/** Does not compile with anything else than `true`; the compiler's message then begins with it. */
export type Holds<T extends true> = T

/** All handlers, by operation id. */
export type Operations = { [Id in OperationId]: Handler<Id> }
