// The CRC-32 of the files of archives. It is in front of the content of a file, so the whole file is read
// before its first byte is sent. Requests for one file share the work, users take turns, and the work ends
// when no client waits for it.
import { addAbortSignal } from 'node:stream'
import { crc32 } from 'node:zlib'
import * as sql from '../../generated/sql/storage.ts'
import { FairSemaphore } from '../../infra/concurrency/fair-semaphore.ts'
import type { Db } from '../../infra/database/database.ts'
import { notFound, requestTimeout } from '../../infra/errors.ts'
import type { BlobStore } from './blobs/blob-store.ts'

type Entry = sql.ListArchiveEntriesRow

/** Who downloads an archive. */
export interface ArchiveReader {
  /** The account of the request: accounts take turns. */
  account: string
  /** Aborts when the client has left. */
  signal: AbortSignal
}

/** Checksums that are stored together. */
const batchSize = 500
/** Bytes after which checksums are stored, so that a large file is not read again. */
const batchBytes = 256 * 1024 * 1024

const turns = new FairSemaphore({
  total: 16,
  perUser: 2,
  maxWaiting: 50,
  // A file of 5 GiB takes a minute, and a wait that ends breaks a download off.
  maxWaitMs: 600_000,
  name: 'archives whose checksums are computed',
})

/** The checksums of the files of an archive. Those that were computed are stored in batches. */
export class Checksums {
  readonly #db: Db
  readonly #store: BlobStore
  readonly #archiveId: string
  readonly #reader: ArchiveReader
  #computed = new Map<number, number>()
  #bytes = 0

  constructor(db: Db, store: BlobStore, archiveId: string, reader: ArchiveReader) {
    this.#db = db
    this.#store = store
    this.#archiveId = archiveId
    this.#reader = reader
  }

  async of(entry: Entry): Promise<number> {
    if (entry.crc32 !== null) return entry.crc32
    const known = this.#computed.get(entry.number)
    if (known !== undefined) return known
    requireThere(entry)
    const sum = await sharedSum(this.#store, entry, this.#reader)
    this.#computed.set(entry.number, sum)
    this.#bytes += entry.bytes
    if (this.#computed.size >= batchSize || this.#bytes > batchBytes) await this.save()
    return sum
  }

  async save(): Promise<void> {
    const computed = this.#computed
    this.#computed = new Map()
    this.#bytes = 0
    if (computed.size === 0) return
    await sql.setArchiveChecksums(this.#db, {
      archive_id: this.#archiveId,
      numbers: [...computed.keys()],
      sums: [...computed.values()],
    })
  }
}

export function requireThere({ file_id: id, is_there: isThere }: Entry): void {
  if (!isThere)
    throw notFound('file', id, { message: `The archive breaks off: the file ${id} was deleted or moved.` })
}

interface RunningSum {
  result: Promise<number>
  requests: number
  cancel: AbortController
}

/** By the key of the blob. */
const running = new Map<string, RunningSum>()

async function sharedSum(
  store: BlobStore,
  entry: Entry,
  { account, signal }: ArchiveReader,
): Promise<number> {
  if (signal.aborted) throw requestTimeout()
  const key = entry.blob_key
  const sum = running.get(key) ?? startSum(store, entry, account)
  sum.requests++
  try {
    return await unlessAborted(sum.result, signal)
  } finally {
    if (--sum.requests === 0) {
      running.delete(key)
      sum.cancel.abort()
    }
  }
}

function startSum(store: BlobStore, entry: Entry, account: string): RunningSum {
  const cancel = new AbortController()
  const result = turns.run(account, () => computeSum(store, entry, cancel.signal), cancel.signal)
  // After a cancellation no request awaits it.
  result.catch(() => {})
  const sum = { result, requests: 0, cancel }
  running.set(entry.blob_key, sum)
  return sum
}

/** The sum of the first bytes of a blob. */
interface PartialSum {
  sum: number
  bytes: number
}

/**
 * Where canceled computations stopped, by the key of the blob, so that a client that gives up and comes back
 * gets the archive at last.
 */
const partialSums = new Map<string, PartialSum>()
const maxPartialSums = 1_000

async function computeSum(
  store: BlobStore,
  { blob_key: key, bytes }: Entry,
  signal: AbortSignal,
): Promise<number> {
  const partial = partialSums.get(key) ?? { sum: 0, bytes: 0 }
  partialSums.delete(key)
  const range = partial.bytes === 0 ? undefined : { start: partial.bytes, end: bytes - 1 }
  try {
    const stream = addAbortSignal(signal, await store.read(key, range))
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      partial.sum = crc32(chunk, partial.sum)
      partial.bytes += chunk.length
    }
    return partial.sum
  } catch (error) {
    if (signal.aborted && partial.bytes < bytes) partialSums.set(key, partial)
    if (partialSums.size > maxPartialSums) partialSums.delete(partialSums.keys().next().value!)
    throw error
  }
}

/** @throws 408 if the client leaves, which is no failure in the log. */
async function unlessAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const onAbort = (): void => aborted.reject(requestTimeout())
  signal.addEventListener('abort', onAbort)
  try {
    return await Promise.race([result, aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
