// The storage service: temporary and partial files, the blob store, and download counts.
import type { Config, S3Config } from '../../infra/config/config.ts'
import type { Database, Transaction } from '../../infra/database/database.ts'
import { wasRolledBack } from '../../infra/database/transaction.ts'
import * as sql from '../../generated/sql/storage.ts'
import { Replay } from '../../infra/contract/replay.ts'
import { ApiError, RolledBack } from '../../infra/errors.ts'
import type { BlobStore, LocalFile } from './blobs/blob-store.ts'
import { createDiskBlobStore } from './blobs/disk.ts'
import { createDiskDocuments } from './blobs/disk-documents.ts'
import { createPartialFiles, type PartialFiles } from './blobs/partial-files.ts'
import { createTempFiles, type TempFiles } from './blobs/temp-files.ts'
import { claimFirst } from './claimed-store.ts'
import { createImages, type Images } from './images.ts'
import { claimFolder, claimStore, claimStores, type OwnedPlace } from './ownership.ts'
import { createMovingStore } from './moving-store.ts'
import { createReservations, type Reservations } from './reservations.ts'

export interface Storage {
  tempFiles: TempFiles
  /** The bytes of unfinished uploads. */
  partialFiles: PartialFiles
  /** The bytes of uploads in progress, in the quotas. */
  reservations: Reservations
  images: Images
  /** Its operations throw 503 while the store is unreachable or that of another database. */
  blobStore(): Promise<BlobStore>
  /** Makes the store that of this database. Throws StoreOwnershipError if it is another's. */
  claim(): Promise<void>
  /**
   * Stores the file as a blob, then runs the transaction that inserts its row. When the transaction is rolled
   * back, or returns the replay of an earlier request, the blob is deleted. When the outcome is unknown,
   * because the connection broke during the commit, the blob stays; the orphan sweep deletes it if it has no
   * row.
   */
  storeBlob<T>(key: string, file: LocalFile, transaction: () => Promise<T>): Promise<T>
  /** Like `storeBlob`, for several blobs by key and one transaction. */
  storeBlobs<T>(files: Map<string, LocalFile>, transaction: () => Promise<T>): Promise<T>
  /** Counts a download in memory. The counts are written to the database every few seconds. */
  countDownload(fileId: string): void
  /** Deletes the documents that were created from files, before the files are deleted. */
  deleteDocuments(tx: Transaction, fileIds: string[]): Promise<void>
  /** Throws when the blob store is unreachable. */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface StorageOptions extends Pick<Storage, 'deleteDocuments'> {
  onError?: (error: Error) => void
  /** Milliseconds between two writes of the download counts. Default 2,000. */
  interval?: number
}

export type StoreSettings = Pick<Config, 's3' | 'secondS3' | 'storageSecond' | 'storageDir'>

/** The store, and the second one while files move. */
export interface Stores {
  first: BlobStore
  second: BlobStore | null
}

export async function openStores({
  s3,
  secondS3,
  storageSecond,
  storageDir,
}: StoreSettings): Promise<Stores> {
  const first = await openStore(s3, storageDir)
  return { first, second: storageSecond === null ? null : await openStore(secondS3, storageDir) }
}

async function openStore(s3: S3Config | null, folder: string): Promise<BlobStore> {
  if (s3 === null) return createDiskBlobStore(folder)
  // Imported on demand, because the AWS SDK is slow to load.
  const { createS3BlobStore } = await import('./blobs/s3.ts')
  return createS3BlobStore(s3)
}

/** Opens the store without checking whose it is. While files move, it has those of both stores. */
export async function openBlobStore(config: StoreSettings): Promise<BlobStore> {
  return joined(await openStores(config))
}

function joined({ first, second }: Stores): BlobStore {
  return second === null ? first : createMovingStore(first, second)
}

/** The folder of uploads in progress. */
export function uploadsFolder({ storageDir }: Pick<Config, 'storageDir'>): OwnedPlace {
  return { location: storageDir, documents: createDiskDocuments(storageDir) }
}

export function createStorage(
  db: Database,
  config: Readonly<Config>,
  { deleteDocuments, onError = () => {}, interval = 2_000 }: StorageOptions,
): Storage {
  // Opening reads nothing: it fails only when the SDK of the store cannot be loaded.
  let opened: Promise<Stores> | undefined
  const open = (): Promise<Stores> => (opened ??= openStores(config))
  let claimed: Promise<void> | undefined
  const claim = (): Promise<void> =>
    (claimed ??= claimAll().catch((error) => {
      claimed = undefined
      throw error
    }))
  let guarded: Promise<BlobStore> | undefined
  const blobStore = (): Promise<BlobStore> =>
    (guarded ??= open().then((stores) => claimFirst(joined(stores), claim)))
  let counts = new Map<string, number>()
  let writing: Promise<void> = Promise.resolve()
  const timer = setInterval(() => {
    if (counts.size > 0) writing = flushCounts()
  }, interval)
  timer.unref()
  const reservations = createReservations(db)

  return {
    deleteDocuments,
    tempFiles: createTempFiles(config.storageDir),
    partialFiles: createPartialFiles(config.storageDir),
    images: createImages(config.storageDir),
    reservations,
    blobStore,
    claim,
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
      if (opened !== undefined) await joined(await opened).close()
    },
  }

  async function claimAll(): Promise<void> {
    const { first, second } = await open()
    if (second !== null) return await claimStores(db, [first, second])
    await claimStore(db, first)
    if (config.s3 === null) return
    await claimFolder(db, uploadsFolder(config)).catch((error) => {
      // Without the folder only uploads fail.
      if (!(error instanceof ApiError)) throw error
      onError(new Error('STORAGE_DIR cannot be used for uploads', { cause: error.cause ?? error }))
    })
  }

  async function storeBlobs<T>(files: Map<string, LocalFile>, transaction: () => Promise<T>): Promise<T> {
    const store = await blobStore()
    const stored: string[] = []
    try {
      for (const [key, file] of files) {
        await store.put(key, file)
        stored.push(key)
      }
      const result = await transaction()
      if (result instanceof Replay) await remove(store, stored)
      return result
    } catch (error) {
      const isRolledBack = stored.length < files.size || error instanceof RolledBack || wasRolledBack(error)
      if (isRolledBack) await remove(store, stored)
      throw error
    }
  }

  async function remove(store: BlobStore, keys: string[]): Promise<void> {
    const { error } = await store.delete(keys)
    if (error !== null) onError(error as Error)
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
