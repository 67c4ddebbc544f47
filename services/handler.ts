// The types between the contract and its handlers: what a handler of an operation is given and what it may answer.
// Derived from generated/types.ts, so that an undeclared status or a wrong body does not compile.
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
import type { Db } from '../infra/database/database.ts'
import type {
  Bytes,
  FilePart,
  IdempotencyFingerprint,
  OperationInfo,
  SentEvent,
} from '../infra/contract/operation.ts'
import type { Principal } from './users/authentication.ts'
import type { Services } from './services.ts'

type OperationId = keyof operations
type ErrorBody = components['schemas']['Error']
type Content<R> = R extends { content: infer C } ? C[keyof C] : undefined
type Declared<Id extends OperationId> = operations[Id]['responses']
type Reply<S, B> = undefined extends B
  ? { status: S; headers?: Record<string, string> }
  : { status: S; body: B; headers?: Record<string, string> }

/** The body of an answer that is a stream: started by the edge, which aborts the signal when the client is gone. */
type Streamed<Events> = (signal: AbortSignal) => AsyncIterable<SentEvent<Events>>

/** What the edge answers by itself. */
type OfEdge = 206 | 304

/** The answers an operation declares, but for the errors, which are thrown, and those that the edge gives. */
export type Answer<Id extends OperationId> = {
  [S in Exclude<keyof Declared<Id>, OfEdge>]: [Extract<Content<Declared<Id>[S]>, ErrorBody>] extends [never]
    ? Reply<
        S,
        Id extends keyof StreamEvents
          ? Streamed<StreamEvents[Id]>
          : S extends 200
            ? Id extends BinaryOperationId
              ? Bytes
              : Content<Declared<Id>[S]>
            : Content<Declared<Id>[S]>
      >
    : never
}[Exclude<keyof Declared<Id>, OfEdge>]

type Parameters<
  Id extends OperationId,
  Place extends 'path' | 'query' | 'header',
> = operations[Id]['parameters'] extends { [P in Place]?: infer V } ? NonNullable<V> : Record<string, never>

/** Of an operation that takes JSON as well as a form, what has the file is the form. */
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
  ? Omit<F, File> & { [Name in File]: FilePart }
  : never

type JsonBody<O> = O extends { requestBody: { content: { 'application/json': infer J } } } ? J : never

type DeclaredBody<Id extends OperationId> = operations[Id] extends { requestBody: { content: infer C } }
  ? C[keyof C]
  : operations[Id] extends { requestBody?: { content: infer C } }
    ? C[keyof C]
    : undefined

/** A validated request, as its handler sees it. */
export interface Request<Id extends OperationId> {
  /** The request id, as on the response and in the log. */
  id: string
  operation: OperationInfo
  params: Parameters<Id, 'path'>
  query: WithDefaults<Parameters<Id, 'query'>>
  /** The declared header fields, in lower case as they arrive. */
  headers: {
    [K in keyof Parameters<Id, 'header'> as K extends string ? Lowercase<K> : never]: Parameters<
      Id,
      'header'
    >[K]
  }
  body: RequestBody<Id>
  principal: Id extends PublicOperationId
    ? null
    : Id extends KeyOptionalOperationId
      ? Principal | null
      : Principal
  /** The fingerprint of the Idempotency-Key and the body; null unless the operation has `handlesIdempotency`. */
  idempotency: IdempotencyFingerprint | null
  /** Aborted when the client is gone before it has its answer. */
  signal: AbortSignal
  /**
   * Holds If-Match against the entity as its GET would answer it. To be called after the row is locked and before it
   * changes; the edge refuses to commit an answer when it was not.
   */
  ifMatch(entity: unknown): void
}

/** Parameters that every list declares with a default are there once the request is validated. */
type WithDefaults<Q> = { [K in keyof Q as K extends Defaulted ? K : never]-?: NonNullable<Q[K]> } & {
  [K in keyof Q as K extends Defaulted ? never : K]: Q[K]
}

type Defaulted = 'page' | 'limit' | 'sort' | 'order' | 'disposition'

/** What a handler works with. `db` is the database, or the transaction that the edge has already opened. */
export type HandlerServices = Services & {
  db: Db
  /** How clients reach this server, without a slash at the end. */ publicUrl: () => string
}

export type Handler<Id extends OperationId> = (
  request: Request<Id>,
  services: HandlerServices,
) => Promise<Answer<Id>>

/** What the handler module of a tag has to hold: one handler for each of its operations. */
export type Handlers<T extends Tag> = { [Id in OperationsByTag[T]]: Handler<Id> }

/** What all handler modules together have to hold. */
export type Operations = { [Id in OperationId]: Handler<Id> }
