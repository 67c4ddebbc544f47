// Where the bytes of files are: on disk or in any S3-compatible store. A blob is put whole, under a key that is never used
// again, and never changes.
import type { Readable } from 'node:stream'

/** A file that has arrived whole and waits on disk until it is kept as a blob. */
export interface Received {
  path: string
  bytes: number
  /** SHA-256 in hex. */
  sha256: string
}

export interface Range {
  start: number
  end: number
}

/** What a presigned address answers with. */
export interface Presentation {
  type: string
  disposition: string
  seconds: number
}

/** What is gone, and why the rest is not. */
export interface Removal {
  gone: string[]
  error: unknown
}

export interface Blobs {
  /**
   * Keeps what was received as `key`. When it resolves the blob is whole and durable; `received` may be gone from its place.
   * Throws 503 when the store has no room or is out of reach, and nothing is left of it.
   */
  put(key: string, received: Received): Promise<void>
  /**
   * The blob, or the bytes from `start` to `end`, both included. Throws `BlobMissing`, or 503 when the store is out of reach.
   * The stream fails when the store stops; whoever reads it may take any time.
   */
  read(key: string, range?: Range): Promise<Readable>
  /** Whether downloads are sent on to addresses of the store itself. */
  readonly redirects: boolean
  /** An address from which whoever has it reads the blob for some seconds; only where `redirects`. */
  presign(key: string, presentation: Presentation): Promise<string>
  /** Removing what is not there succeeds, and what cannot be removed keeps nothing else from it. Does not throw. */
  remove(keys: string[]): Promise<Removal>
  /** All there is, in any order, by pages. */
  list(): AsyncIterable<Array<{ key: string; modifiedAt: Date }>>
  /** Removes what puts that were cut off have left in the store, where that is older than `before`. */
  tidy(before: Date): Promise<void>
  /** Throws when the store is out of reach. */
  ping(): Promise<void>
  close(): Promise<void>
}

export class BlobMissing extends Error {}

/** Whether a key is one of ours. Whatever else is in the store is somebody else's. */
export function isOurs(key: string): boolean {
  return /^(file|avt)_[0-9a-z]{26}(-\d+)?$/.test(key)
}
