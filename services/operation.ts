// The types between the contract and its handlers: what a handler of an operation is given and what it may answer.
// Derived from generated/types.ts, so that an undeclared status or a wrong body does not compile.
import type { components, operations } from '../generated/types.ts'
import type { Readable } from 'node:stream'
import type {
  BinaryOperationId,
  FormFiles,
  KeyOptionalOperationId,
  PublicOperationId,
  RawOperationId,
  StreamedOperationId,
  StreamEvents,
} from '../generated/operations.ts'
import type { Db } from './database.ts'
import type { Principal } from './principals.ts'
import type { Services } from './services.ts'

type OperationId = keyof operations
type ErrorBody = components['schemas']['Error']
type Content<R> = R extends { content: infer C } ? C[keyof C] : undefined
type Declared<Id extends OperationId> = operations[Id]['responses']
type Reply<S, B> = undefined extends B
  ? { status: S; headers?: Record<string, string> }
  : { status: S; body: B; headers?: Record<string, string> }

/**
 * One piece of a stream of server-sent events: an event with its data, or an id alone, from which a client goes on that
 * connects again. `Events` are the data of each event, by its name.
 */
export type SentEvent<Events> =
  | { id: string; event?: undefined }
  | {
      [Name in keyof Events]: { event: Name; id?: string; data: Events[Name] }
    }[keyof Events]

/** The body of an answer that is a stream: started by the edge, which aborts the signal when the client is gone. */
type Streamed<Events> = (signal: AbortSignal) => AsyncIterable<SentEvent<Events>>

/** Bytes to be answered. The edge sends them whole or a range of them, or not at all where the client has them already. */
export interface Bytes {
  type: string
  bytes: number
  /** A strong validator, quotes included. */
  etag: string
  modifiedAt: Date
  /** Further header fields. */
  headers: Record<string, string>
  /** Opens the bytes, or those from `start` to `end`, both included. Called when they are really sent, and once. */
  open(range?: { start: number; end: number }): Promise<Readable>
  /** Where the bytes are instead, for a client that asks for them: it is sent there. Called once, in the place of `open`. */
  address?(): Promise<string>
}

/** A file of a form, or a body of bytes, while it arrives. */
export interface FilePart {
  /** Its media type as the client declares it. */
  declaredType: string | null
  /** Ends when the whole form has arrived and was well-formed, and fails otherwise. */
  content: Readable
  /** SHA-256 in hex, for whoever asks whether the same body came before; set by who reads the content. */
  sha256?: string
}

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

/** SHA-256 of the method, the path and the key, which is one user's; and of the body. */
export interface Keyed {
  digest: Buffer
  bodyHash: Buffer
}

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
  /** What tells a repetition by its Idempotency-Key: of an operation whose handler remembers by itself what it answered. */
  keyed: Keyed | null
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

/** A form's file, whether it has a field for the file's name, and which fields are JSON or may come several times. */
export interface FormInfo {
  file: string
  named: boolean
  json: string[]
  lists: string[]
}

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
  /** Whether a request without a key is let through to the handler. */
  keyOptional?: boolean
  rateLimit: string | null
  validators: { path?: string; query?: string; header?: string; body?: string; form?: string }
  /**
   * `form`, where it is or may be one with a file; `streamed`, where its handler reads it, unless it is JSON, while it arrives;
   * `raw`, where its handler gets the bytes of JSON as they came.
   */
  body: {
    required: boolean
    contentTypes: string[]
    form?: FormInfo
    streamed?: boolean
    raw?: boolean
  } | null
  /**
   * `events`, where the body is a stream: what writes the data of each, by its name. `volatile` are fields that have no part
   * in the ETag. `binary`, where the body is bytes.
   */
  replies: Record<
    string,
    {
      contentType: string | null
      serializer?: string
      events?: Record<string, string>
      volatile?: string[]
      binary?: boolean
    }
  >
  produces: string[]
  /** Whether an answer to an Idempotency-Key is remembered. */
  idempotent: boolean
  /** Whether its handler remembers by itself what was answered to an Idempotency-Key, because it takes too long for one transaction. */
  remembers?: boolean
  /** The header fields that have to be the same where an Idempotency-Key is used again, because no body tells. */
  keyedHeaders?: string[]
  /** The GET whose answer If-Match is held against. */
  ifMatch: string | null
  etag: boolean
  paged: boolean
  projectAccess: { role: string; states?: string[] } | null
  /** Of an operation that will end: since when that is known, its last day, and the path of what comes after it. */
  deprecation?: { since: string; sunset: string; successor: string | null }
  /** Whether the answer holds a secret that is shown once. */
  secretAnswer: boolean
}
