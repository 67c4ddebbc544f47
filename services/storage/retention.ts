// Data retention of storage: deletes expired files and uploads, the blobs of deleted rows, and what crashed
// processes left behind. A blob that a row refers to is never deleted.
import type { Db } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/storage.ts'
import type { Emitter } from '../events/emit.ts'
import { deleteBatch, deleteEach, type RetentionTask } from '../../infra/jobs/retention.ts'
import { isBlobKey } from './blobs/blob-store.ts'
import type { Storage } from './storage.ts'
import { deleteExpiredUploads } from './uploads/retention.ts'

export interface StorageRetention {
  storage: Storage
  events: Emitter
}

const batchSize = { expiredFiles: 100, filesOfDeletedUsers: 1000, deletedBlobs: 200, reservations: 1000 }

export interface ExpiryOptions extends StorageRetention {
  /** Deletes the documents that were created from a file, before the file is deleted. */
  deleteDocuments(tx: Db, fileId: string): Promise<void>
}

/** Run every minute, because users wait for the quota that expired files occupy. */
export function expiryTasks({ storage, events, deleteDocuments }: ExpiryOptions): RetentionTask[] {
  return [
    {
      name: 'expired files',
      step: deleteEach({
        list: listExpired,
        remove: (tx, file) => deleteExpired(tx, { events, deleteDocuments }, file),
      }),
    },
    { name: 'uploads', step: (db) => deleteExpiredUploads(db, { storage, events }) },
    { name: 'blobs', step: (db) => deleteBlobs(db, storage) },
    {
      name: 'storage reservations',
      step: deleteBatch(sql.deleteAbandonedReservations, batchSize.reservations),
    },
  ]
}

export interface OrphanOptions {
  /**
   * The longest upload in seconds. A blob that is at most an hour older may still get its row and is not
   * deleted.
   */
  uploadTimeout: number
  /** Hours between two sweeps of the blob store. Default 24. */
  hours?: number
}

/** Deletes what deleted accounts and crashes leave behind. */
export function storageRetentionTasks(
  { storage }: StorageRetention,
  { uploadTimeout, hours = 24 }: OrphanOptions,
): RetentionTask[] {
  const sweep = createOrphanSweep(storage)
  let nextSweepAt = 0
  return [
    {
      name: 'files of deleted users',
      step: deleteBatch(sql.deleteFilesOfDeletedUsers, batchSize.filesOfDeletedUsers),
    },
    {
      name: 'orphans',
      async step(db) {
        if (!sweep.isRunning && Date.now() < nextSweepAt) return { removed: 0, more: false }
        const result = await sweep.step(db, new Date(Date.now() - (uploadTimeout + 3600) * 1000))
        if (!result.more) nextSweepAt = Date.now() + hours * 3_600_000
        return result
      },
    },
  ]
}

async function listExpired(
  db: Db,
  after: sql.ListExpiredFilesRow | null,
): Promise<sql.ListExpiredFilesRow[]> {
  return await sql.listExpiredFiles(db, {
    after_expires_at: after?.expires_at ?? null,
    after_id: after?.id ?? null,
    limit: batchSize.expiredFiles,
  })
}

async function deleteExpired(
  tx: Db,
  { events, deleteDocuments }: Pick<ExpiryOptions, 'events' | 'deleteDocuments'>,
  { id }: sql.ListExpiredFilesRow,
): Promise<{ removed: number; more: boolean }> {
  const file = await sql.lockExpiredFile(tx, { id })
  if (file === undefined) return { removed: 0, more: false }
  await deleteDocuments(tx, id)
  await sql.deleteFile(tx, { id })
  await events.emit(tx, 'file.deleted', file, { userId: file.owner_id })
  return { removed: 1, more: false }
}

/**
 * Deletes the blobs first and their queue rows second. A crash in between repeats the deletion, which is
 * idempotent. Blobs that cannot be deleted are postponed by ten minutes, so that they do not block the
 * others.
 */
async function deleteBlobs(db: Db, storage: Storage): Promise<{ removed: number; more: boolean }> {
  const keys = (await sql.listDueBlobs(db, { limit: batchSize.deletedBlobs })).map(({ key }) => key)
  if (keys.length === 0) return { removed: 0, more: false }
  const { deleted, error } = await (await storage.blobStore()).delete(keys)
  await sql.dequeueBlobs(db, { keys: deleted })
  if (deleted.length < keys.length) {
    await sql.postponeBlobs(db, { keys: keys.filter((key) => !deleted.includes(key)) })
    throw new Error(`${keys.length - deleted.length} of ${keys.length} blobs could not be deleted`, {
      cause: error,
    })
  }
  return { removed: keys.length, more: keys.length === batchSize.deletedBlobs }
}

export interface OrphanSweep {
  /** Whether the last step left more to do. */
  readonly isRunning: boolean
  /**
   * Examines the next page of the blob store and deletes blobs that no row refers to and that are older than
   * `before`. A blob that cannot be deleted does not stop the sweep; the error is thrown after the last page.
   */
  step(db: Db, before: Date): Promise<{ removed: number; more: boolean }>
}

export function createOrphanSweep(storage: Storage): OrphanSweep {
  let pages: AsyncIterator<Array<{ key: string; modifiedAt: Date }>> | null = null
  let failure: unknown = null
  return {
    get isRunning() {
      return pages !== null
    },
    async step(db, before) {
      const blobStore = await storage.blobStore()
      try {
        if (pages === null) {
          pages = blobStore.list()[Symbol.asyncIterator]()
          failure = null
          await blobStore.deleteIncompletePuts(before).catch((error) => {
            failure = error
          })
          return { removed: await storage.tempFiles.deleteOlderThan(before), more: true }
        }
        const { done, value } = await pages.next()
        if (done === true) {
          pages = null
          if (failure !== null)
            throw new Error('the sweep could not delete every orphaned blob', { cause: failure })
          return { removed: 0, more: false }
        }
        const old = value
          .filter(({ key, modifiedAt }) => isBlobKey(key) && modifiedAt < before)
          .map(({ key }) => key)
        const orphans =
          old.length === 0 ? [] : (await sql.listOrphanedBlobs(db, { keys: old })).map(({ key }) => key)
        const { deleted, error } = await blobStore.delete(orphans)
        failure ??= error
        return { removed: deleted.length, more: true }
      } catch (error) {
        pages = null
        throw error
      }
    },
  }
}
