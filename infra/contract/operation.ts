// The contract as the code knows it: one row of the table of operations, and the shapes of the bodies that are no JSON.
import type { Readable } from 'node:stream'

/**
 * One piece of a stream of server-sent events: an event with its data, or an id alone, from which a client goes on that
 * connects again. `Events` are the data of each event, by its name.
 */
export type SentEvent<Events> =
  | { id: string; event?: undefined }
  | {
      [Name in keyof Events]: { event: Name; id?: string; data: Events[Name] }
    }[keyof Events]

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

/** `digest`: SHA-256 of the method, the path and the Idempotency-Key. `bodyHash`: SHA-256 of the body. */
export interface IdempotencyFingerprint {
  digest: Buffer
  bodyHash: Buffer
}

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
  /**
   * The handler stores the response of an Idempotency-Key itself,
   * because the operation takes too long for one transaction.
   */
  handlesIdempotency?: boolean
  /** The header fields that a repeated Idempotency-Key must match, for a body of raw bytes that is not compared. */
  idempotencyHeaders?: string[]
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
