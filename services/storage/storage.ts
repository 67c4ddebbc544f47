// The storage service: temporary and partial files, the blob store, and download counts.
import type { Config } from '../../infra/config/config.ts'
import { wasRolledBack, type Database } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/storage.ts'
import { RolledBack } from '../../infra/errors.ts'
import type { BlobStore, LocalFile } from './blobs/blob-store.ts'
import { createDiskBlobStore } from './blobs/disk.ts'
import { createPartialFiles, type PartialFiles } from './blobs/partial-files.ts'
import { createTempFiles, type TempFiles } from './blobs/temp-files.ts'
import { createReservations, type Reservations } from './reservations.ts'

export interface Storage {
  tempFiles: TempFiles
  /** The bytes of unfinished uploads. */
  partialFiles: PartialFiles
  /** The bytes of uploads in progress, in the quotas. */
  reservations: Reservations
  /** Connects on first use. */
  blobStore(): Promise<BlobStore>
  /**
   * Stores the file as a blob, then runs the transaction that inserts its row. When the transaction is rolled
   * back, the blob is deleted. When the outcome is unknown, because the connection broke during the commit,
   * the blob stays; the orphan sweep deletes it if it has no row.
   */
  storeBlob<T>(key: string, file: LocalFile, transaction: () => Promise<T>): Promise<T>
  /** Like `storeBlob`, for several blobs by key and one transaction. */
  storeBlobs<T>(files: Map<string, LocalFile>, transaction: () => Promise<T>): Promise<T>
  /** Counts a download in memory. The counts are written to the database every few seconds. */
  countDownload(fileId: string): void
  /** Throws when the blob store is unreachable. */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface StorageOptions {
  onError?: (error: Error) => void
  /** Milliseconds between two writes of the download counts. Default 2,000. */
  interval?: number
}

async function createBlobStore({ s3, storageDir }: Readonly<Config>): Promise<BlobStore> {
  if (s3 === null) return createDiskBlobStore(storageDir)
  // Imported on demand, because the AWS SDK is slow to load.
  const { createS3BlobStore } = await import('./blobs/s3.ts')
  return createS3BlobStore(s3)
}

export function createStorage(
  db: Database,
  config: Readonly<Config>,
  { onError = () => {}, interval = 2_000 }: StorageOptions = {},
): Storage {
  let opened: Promise<BlobStore> | undefined
  const blobStore = (): Promise<BlobStore> =>
    (opened ??= createBlobStore(config).catch((error) => {
      opened = undefined
      throw error
    }))
  let counts = new Map<string, number>()
  let writing: Promise<void> = Promise.resolve()
  const timer = setInterval(() => {
    if (counts.size > 0) writing = flushCounts()
  }, interval)
  timer.unref()
  const reservations = createReservations(db)

  return {
    tempFiles: createTempFiles(config.storageDir),
    partialFiles: createPartialFiles(config.storageDir),
    reservations,
    blobStore,
    storeBlob: (key, file, transaction) => storeBlobs(new Map([[key, file]]), transaction),
    storeBlobs,
    countDownload(fileId) {
      counts.set(fileId, (counts.get(fileId) ?? 0) + 1)
    },
    async ping() {
      await (await blobStore()).ping()
    },
    async close() {
      clearInterval(timer)
      reservations.close()
      await writing
      await flushCounts()
      if (opened !== undefined) await (await opened).close()
    },
  }

  async function storeBlobs<T>(files: Map<string, LocalFile>, transaction: () => Promise<T>): Promise<T> {
    const store = await blobStore()
    const stored: string[] = []
    try {
      for (const [key, file] of files) {
        await store.put(key, file)
        stored.push(key)
      }
      return await transaction()
    } catch (error) {
      const isRolledBack = stored.length < files.size || error instanceof RolledBack || wasRolledBack(error)
      if (isRolledBack) {
        const result = await store.delete(stored)
        if (result.error !== null) onError(result.error as Error)
      }
      throw error
    }
  }

  async function flushCounts(): Promise<void> {
    const flushed = counts
    counts = new Map()
    if (flushed.size === 0) return
    // Sorted by id, so that two processes lock the rows in the same order and cannot deadlock.
    const rows = [...flushed].sort(([a], [b]) => (a < b ? -1 : 1))
    try {
      await sql.addDownloads(db, { ids: rows.map(([id]) => id), counts: rows.map(([, n]) => n) })
    } catch (error) {
      for (const [id, n] of rows) counts.set(id, (counts.get(id) ?? 0) + n)
      onError(error as Error)
    }
  }
}
