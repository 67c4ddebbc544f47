// The types between the contract and its handlers: what a handler of an operation is given and what it may answer.
// Derived from generated/types.ts, so that an undeclared status or a wrong body does not compile.
import type { components, operations } from '../generated/types.ts'
import type { PublicOperationId, StreamEvents } from '../generated/operations.ts'
import type { Db } from './database.ts'
import type { Principal } from './principals.ts'
import type { Services } from './services.ts'

type OperationId = keyof operations
type ErrorBody = components['schemas']['Error']
type Content<R> = R extends { content: infer C } ? C[keyof C] : undefined
type Declared<Id extends OperationId> = operations[Id]['responses']
type Reply<S, B> = undefined extends B
  ? { status: S, headers?: Record<string, string> }
  : { status: S, body: B, headers?: Record<string, string> }

/**
 * One piece of a stream of server-sent events: an event with its data, or an id alone, from which a client goes on that
 * connects again. `Events` are the data of each event, by its name.
 */
export type SentEvent<Events> = { id: string, event?: undefined } | {
  [Name in keyof Events]: { event: Name, id?: string, data: Events[Name] }
}[keyof Events]

/** The body of an answer that is a stream: started by the edge, which aborts the signal when the client is gone. */
type Streamed<Events> = (signal: AbortSignal) => AsyncIterable<SentEvent<Events>>

/** The answers an operation declares, but for the errors, which are thrown, and 304, which the edge gives. */
export type Answer<Id extends OperationId> = {
  [S in Exclude<keyof Declared<Id>, 304>]: Content<Declared<Id>[S]> extends ErrorBody ? never
    : Reply<S, Id extends keyof StreamEvents ? Streamed<StreamEvents[Id]> : Content<Declared<Id>[S]>>
}[Exclude<keyof Declared<Id>, 304>]

type Parameters<Id extends OperationId, Place extends 'path' | 'query' | 'header'> =
  operations[Id]['parameters'] extends { [P in Place]?: infer V } ? NonNullable<V> : Record<string, never>

type RequestBody<Id extends OperationId> =
  operations[Id] extends { requestBody: { content: infer C } } ? C[keyof C]
    : operations[Id] extends { requestBody?: { content: infer C } } ? C[keyof C]
      : undefined

/** A validated request, as its handler sees it. */
export interface Request<Id extends OperationId> {
  /** The request id, as on the response and in the log. */
  id: string
  operation: OperationInfo
  params: Parameters<Id, 'path'>
  query: WithDefaults<Parameters<Id, 'query'>>
  /** The declared header fields, in lower case as they arrive. */
  headers: { [K in keyof Parameters<Id, 'header'> as K extends string ? Lowercase<K> : never]: Parameters<Id, 'header'>[K] }
  body: RequestBody<Id>
  principal: Id extends PublicOperationId ? null : Principal
  /**
   * Holds If-Match against the entity as its GET would answer it. To be called after the row is locked and before it
   * changes; the edge refuses to commit an answer when it was not.
   */
  ifMatch (entity: unknown): void
}

/** Parameters that every list declares with a default are there once the request is validated. */
type WithDefaults<Q> = { [K in keyof Q as K extends Defaulted ? K : never]-?: NonNullable<Q[K]> } &
  { [K in keyof Q as K extends Defaulted ? never : K]: Q[K] }

type Defaulted = 'page' | 'limit' | 'sort' | 'order'

/** What a handler works with. `db` is the database, or the transaction that the edge has already opened. */
export type HandlerServices = Services & { db: Db }

export type Handler<Id extends OperationId> = (request: Request<Id>, services: HandlerServices) => Promise<Answer<Id>>

/** One row of the table of operations: what the spec declares, for the edge. */
export interface OperationInfo {
  id: string
  method: string
  /** As in the spec, with the server's prefix. */
  path: string
  /** The same in the router's notation. */
  url: string
  tag: string
  /** null for a public operation. */
  scopes: string[] | null
  rateLimit: string | null
  validators: { path?: string, query?: string, header?: string, body?: string }
  body: { required: boolean, contentTypes: string[] } | null
  /** `events`, where the body is a stream: what writes the data of each, by its name. */
  replies: Record<string, { contentType: string | null, serializer?: string, events?: Record<string, string> }>
  produces: string[]
  idempotent: boolean
  /** The GET whose answer If-Match is held against. */
  ifMatch: string | null
  etag: boolean
  paged: boolean
  projectAccess: { role: string, states?: string[] } | null
  /** Whether the answer holds a secret that is shown once. */
  secretAnswer: boolean
}
