// The types of the contract: an operation in generated/operations.ts, and bodies that are not JSON.
import type { Readable } from 'node:stream'

/**
 * One message of a stream of server-sent events: an event with its data, or only an id, which a client sends
 * as `Last-Event-ID` when it reconnects. `Events` maps the names of events to their data.
 */
export type SentEvent<Events> =
  | { id: string; event?: undefined }
  | {
      [Name in keyof Events]: { event: Name; id?: string; data: Events[Name] }
    }[keyof Events]

/** A response body of bytes. The HTTP layer sends all bytes, a range, or 304 for a matching ETag. */
export interface Bytes {
  type: string
  bytes: number
  /** A strong ETag, quotes included. */
  etag: string
  modifiedAt: Date
  /** Further header fields. */
  headers: Record<string, string>
  /** Opens all bytes, or those from `start` to `end`, both included. Called at most once. */
  open(range?: { start: number; end: number }): Promise<Readable>
  /** The URL to redirect the client to. Called at most once, in place of `open`. */
  address?(): Promise<string>
}

/** A file of a form, or a body of bytes, while it is received. */
export interface FilePart {
  /** The media type that the client declared. */
  declaredType: string | null
  /** Ends after the whole form was received and is valid; fails otherwise. */
  content: Readable
  /** The most bytes that it can have: the Content-Length of its request, which may have none. */
  maxLength?: number
  /** The name of the file in a form, known when the content was read to its end. */
  name?: string
  /** SHA-256 in hex. The reader of the content sets it; the check of a repeated Idempotency-Key uses it. */
  sha256?: string
}

/** A form with a file. The fields may come before and after the file. */
export interface FormWithFile<Fields> {
  file: FilePart
  /** The fields that are known already. Before the file is read, those that came before it. */
  received: Partial<Fields>
  /** All fields. Throws unless the file was read to its end. */
  fields(): Fields
}

/**
 * `digest`: SHA-256 of the method, the path and the Idempotency-Key. `bodyHash`: SHA-256 of the body, and of
 * the query if there is one.
 */
export interface IdempotencyFingerprint {
  digest: Buffer
  bodyHash: Buffer
}

export interface FormInfo {
  /** The field of the file. */
  file: string
  /** Whether the form has a field `name` for the file name. */
  named: boolean
  /** The fields that contain JSON. */
  json: string[]
  /** The fields that may be repeated. */
  lists: string[]
  /** The fields that are integers. */
  integers: string[]
}

/** An operation, as the spec declares it. */
export interface OperationInfo {
  id: string
  method: string
  /** Whether PATCH does the same. Only for PUT. */
  acceptsPatch?: boolean
  /** The path as in the spec, with the server's prefix: `/v1/projects/{id}`. */
  path: string
  /** The path in the notation of Fastify's router. */
  url: string
  tag: string
  /** null for a public operation. */
  scopes: string[] | null
  /** Whether the handler accepts a request without an API key. */
  keyOptional?: boolean
  rateLimit: string | null
  validators: { path?: string; query?: string; header?: string; body?: string; form?: string }
  body: {
    required: boolean
    contentTypes: string[]
    /** For a form with a file. */
    form?: FormInfo
    /** The handler reads the body while it arrives. A JSON body is always read first. */
    streamed?: boolean
    /** The handler gets the bytes of the JSON body, for example to verify a signature. */
    raw?: boolean
    /** The size limit of a JSON body with long texts. */
    maxBytes?: number
    /** The limit of JSON values of a batch. */
    maxValues?: number
  } | null
  /** Whether the response depends only on the server, so that it is created once. */
  static?: boolean
  /** The fields of the resource that the update does not take. */
  fixedFields?: string[]
  /**
   * The responses by status. `events`: for a stream, the serializers of its events by name. `streamEnd`:
   * the data of the event after the last one. `volatile`: fields that are not part of the ETag. `binary`: the
   * body is bytes.
   */
  replies: Record<
    string,
    {
      contentType: string | null
      serializer?: string
      events?: Record<string, string>
      streamEnd?: string
      volatile?: string[]
      binary?: boolean
    }
  >
  /** Whether browsers get its errors as pages. */
  htmlErrors?: boolean
  /** The media types of successful responses. */
  produces: string[]
  /** Whether the response to an Idempotency-Key is stored. */
  idempotent: boolean
  /**
   * The handler stores the response of an Idempotency-Key itself, because the operation takes too long for
   * one transaction.
   */
  handlesIdempotency?: boolean
  /** Header fields that a repeated Idempotency-Key must match. For streamed bytes, which are not compared. */
  idempotencyHeaders?: string[]
  /** The id of the GET operation whose ETag is compared with If-Match. */
  ifMatch: string | null
  etag: boolean
  paged: boolean
  /** The query parameters that are objects: `name[key]=value`. */
  queryObjects?: string[]
  /** `shares`: whether a share of the folder counts, as its role does. */
  projectAccess: { role: string; states?: string[]; operators?: string; shares?: boolean } | null
  organizationAccess?: { role: string; operators?: string }
  /** For a deprecated operation: the date of the deprecation, the last day, and the path of the successor. */
  deprecation?: { since: string; sunset: string; successor: string | null }
  /** Whether it serves the content of users' files, on the origin of FILES_URL. */
  filesOrigin?: boolean
  /** Whether its lists may be read from a read replica. */
  readReplica?: boolean
  /** The values of `include`, each with the property of the user's id and that of the user. */
  includes?: Record<string, { id: string; as: string }>
  /** Whether the response contains a secret that is shown once. */
  secretAnswer: boolean
  /** Whether API keys that are limited to some projects get 403. */
  unlimitedKey?: boolean
  /** Whether admins of organizations may call an operation with a scope of operators for what they sell. */
  organizationSellers?: boolean
  /** API keys get 403: only the session of a user who has signed in may call it. */
  needsSession?: boolean
  /** Whether a session that is limited may call an operation that needs a session. */
  limitedSession?: boolean
}
