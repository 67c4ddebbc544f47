// The interface of a blob store, which keeps the bytes of files on local disk or in an S3-compatible bucket.
// A blob is written once, under a key that is never reused, and never changes.
import type { Readable } from 'node:stream'
import { unavailable } from '../../../infra/errors.ts'

/** A complete file on local disk that can be stored as a blob. */
export interface LocalFile {
  path: string
  bytes: number
  /** SHA-256 in hex. */
  sha256: string
}

/** Byte positions; both ends are included. */
export interface ByteRange {
  start: number
  end: number
}

/** The response headers and the lifetime of a presigned URL. */
export interface PresignOptions {
  contentType: string
  contentDisposition: string
  expiresInSeconds: number
}

export interface DeleteResult {
  /** The keys that no longer exist. */
  deleted: string[]
  /** The first error, or null when every key was deleted. */
  error: unknown
}

export interface ListedBlob {
  key: string
  bytes: number
  modifiedAt: Date
}

/** Small texts about the store itself, beside its blobs. */
export interface StoreDocuments {
  /** null for a missing document. */
  read(name: string): Promise<string | null>
  /** Creates the document atomically. @returns false if it exists: of concurrent calls, one succeeds. */
  create(name: string, content: string): Promise<boolean>
  /** Creates or replaces the document atomically. */
  write(name: string, content: string): Promise<void>
}

/** A blob whose bytes arrive in parts, and the store's id of the upload. */
export interface MultipartUpload {
  key: string
  id: string
}

/** The bytes of an unfinished upload in S3. */
export interface Multipart extends MultipartUpload {
  /** Bytes of every part but the last. */
  part_size: number
  /** The ETags of the stored parts, from the first. */
  etags: string[]
  /** The name of the object with the bytes after the last part; null if there are none. */
  tail: string | null
}

export interface PartSize {
  number: number
  bytes: number
}

export interface StoredPart extends PartSize {
  etag: string
}

/**
 * Blobs that are written in parts, by any server. A part has at least 5 MiB, except for the last one. Bytes
 * that are no part yet are in an object of their own, the tail.
 */
export interface BlobParts {
  /** Whether new uploads begin here. False for the store that files leave. */
  readonly takesNew: boolean
  begin(key: string): Promise<MultipartUpload>
  /** Stores or replaces a part; the first one is 1. @returns its ETag. @throws PartsLost */
  put(upload: MultipartUpload, number: number, file: LocalFile): Promise<string>
  /** A URL that stores or replaces a part of exactly this size by PUT, without further authentication. */
  presign(upload: MultipartUpload, part: PartSize, expiresInSeconds: number): Promise<string>
  /** The stored parts, in the order of their numbers. @throws PartsLost */
  list(upload: MultipartUpload): Promise<StoredPart[]>
  /** Makes a blob of all parts. @throws PartsLost if the store has other parts. */
  complete(upload: MultipartUpload, etags: string[]): Promise<void>
  /** Deletes the parts. Aborting a missing upload succeeds. */
  abort(upload: MultipartUpload): Promise<void>
  putTail(name: string, file: LocalFile): Promise<void>
  /** @throws PartsLost if it does not exist. */
  readTail(name: string): Promise<Readable>
  /** Deleting a missing tail succeeds. */
  deleteTails(names: string[]): Promise<void>
  /** Lists all tails in pages. */
  listTails(): AsyncIterable<Array<{ name: string; modifiedAt: Date }>>
}

/** The store no longer has the bytes that an unfinished upload relies on. */
export class PartsLost extends Error {}

export interface BlobStore {
  /** null for a store on disk. */
  readonly parts: BlobParts | null
  /** The folder or the bucket, for messages to operators. */
  readonly location: string
  readonly documents: StoreDocuments
  /**
   * Stores the file under `key`. The blob is complete and durable when the promise resolves; the store may
   * have moved the file away from its path. Throws 503 when the store is full or unreachable, and leaves no
   * blob behind.
   */
  put(key: string, file: LocalFile): Promise<void>
  /**
   * Opens the blob or a range of it. Throws `BlobNotFound`, or 503 when the store is unreachable. The stream
   * fails when the store stops sending; a slow reader is never disconnected.
   */
  read(key: string, range?: ByteRange): Promise<Readable>
  /** Whether downloads are redirected to presigned URLs of the store. */
  readonly redirects: boolean
  /** A URL that reads the blob without further authentication. Available only when `redirects` is true. */
  presign(key: string, options: PresignOptions): Promise<string>
  /**
   * Deletes blobs. Deleting a missing blob succeeds. Does not throw: a key that cannot be deleted does not
   * stop the others and is missing from `deleted`.
   */
  delete(keys: string[]): Promise<DeleteResult>
  /** Lists all objects in pages, in no particular order. `isBlobKey` is true for the keys of blobs. */
  list(): AsyncIterable<ListedBlob[]>
  /** The bytes of the blob; null if it does not exist. Throws 503 when the store is unreachable. */
  sizeOf(key: string): Promise<number | null>
  /**
   * Frees the space of `put` calls and multipart uploads that started before `before` and were interrupted.
   * @param unusedOf those of the keys that nothing uses.
   */
  deleteIncompletePuts(before: Date, unusedOf: (keys: string[]) => Promise<string[]>): Promise<void>
  /** Throws when the store is unreachable. */
  ping(): Promise<void>
  close(): Promise<void>
}

export class BlobNotFound extends Error {
  key: string

  constructor(key: string) {
    super(`the blob ${key} is missing in the file store`)
    this.key = key
  }
}

/** The 503 for a store that is unreachable. */
export function storeUnavailable(cause: unknown): Error {
  return Object.assign(unavailable('The file store is unavailable; try again later.'), { cause })
}

/** Whether the server could have written this key. Other objects belong to others and are never touched. */
export function isBlobKey(key: string): boolean {
  return /^(file|avt|exp)_[0-9a-z]{26}(-\d+)?$/.test(key)
}
