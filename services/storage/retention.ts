// Data retention of storage: deletes expired files and uploads, the blobs of deleted rows, and what crashed
// processes left behind. A blob that a row refers to is never deleted.
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import type { Emitter } from '../events/emit.ts'
import { deleteEach, type RetentionTask } from '../../infra/jobs/retention.ts'
import { isBlobKey } from './blobs/blob-store.ts'
import { deleteBatchStep } from '../../infra/database/batch-delete.ts'
import { fileColumns, type File } from './files.ts'
import type { Storage } from './storage.ts'
import { deleteExpiredUploads } from './uploads/retention.ts'

export interface StorageRetention {
  storage: Storage
  events: Emitter
}

const batchSize = { expiredFiles: 100, filesOfDeletedUsers: 1000, deletedBlobs: 200 }

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

/**
 * Files in the workspace of a deleted user, which no one can read. Files with documents follow once those are
 * deleted.
 */
const filesOfDeletedUsers = `
  SELECT f.id FROM users u JOIN files f ON f.space_id = u.id
  WHERE u.status = 'deleted' AND NOT EXISTS (SELECT FROM documents d WHERE d.file_id = f.id) LIMIT $1`

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
      step: deleteBatchStep('files', filesOfDeletedUsers, batchSize.filesOfDeletedUsers),
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

interface ExpiredFile {
  id: string
  expires_at: string
}

const readExpired = statement<ExpiredFile>(`
  SELECT id, expires_at FROM files
  WHERE expires_at <= now() AND ($1::timestamptz IS NULL OR (expires_at, id) > ($1, $2))
  ORDER BY expires_at, id LIMIT $3`)
const lockExpired = statement<File>(
  `SELECT ${fileColumns} FROM files f WHERE f.id = $1 AND f.expires_at <= now() FOR UPDATE OF f SKIP LOCKED`,
)
const deleteFile = statement('DELETE FROM files WHERE id = $1')

async function listExpired(db: Db, after: ExpiredFile | null): Promise<ExpiredFile[]> {
  return await db.sql(readExpired, [after?.expires_at ?? null, after?.id ?? null, batchSize.expiredFiles])
}

async function deleteExpired(
  tx: Db,
  { events, deleteDocuments }: Pick<ExpiryOptions, 'events' | 'deleteDocuments'>,
  { id }: ExpiredFile,
): Promise<{ removed: number; more: boolean }> {
  const [file] = await tx.sql(lockExpired, [id])
  if (file === undefined) return { removed: 0, more: false }
  await deleteDocuments(tx, id)
  await tx.sql(deleteFile, [id])
  await events.emit(tx, 'file.deleted', file, { userId: file.owner_id })
  return { removed: 1, more: false }
}

const readDue = statement<{ key: string }>(
  'SELECT key FROM deleted_blobs WHERE delete_after <= now() ORDER BY delete_after LIMIT $1',
)
const deleteRows = statement('DELETE FROM deleted_blobs WHERE key = ANY($1)')
const postpone = statement(
  "UPDATE deleted_blobs SET delete_after = now() + interval '10 minutes' WHERE key = ANY($1)",
)

/**
 * Deletes the blobs first and their queue rows second. A crash in between repeats the deletion, which is
 * idempotent. Blobs that cannot be deleted are postponed by ten minutes, so that they do not block the
 * others.
 */
async function deleteBlobs(db: Db, storage: Storage): Promise<{ removed: number; more: boolean }> {
  const keys = (await db.sql(readDue, [batchSize.deletedBlobs])).map(({ key }) => key)
  if (keys.length === 0) return { removed: 0, more: false }
  const { deleted, error } = await (await storage.blobStore()).delete(keys)
  await db.sql(deleteRows, [deleted])
  if (deleted.length < keys.length) {
    await db.sql(postpone, [keys.filter((key) => !deleted.includes(key))])
    throw new Error(`${keys.length - deleted.length} of ${keys.length} blobs could not be deleted`, {
      cause: error,
    })
  }
  return { removed: keys.length, more: keys.length === batchSize.deletedBlobs }
}

const selectOrphans = statement<{ key: string }>(`
  SELECT k.key FROM unnest($1::text[]) AS k (key)
  WHERE NOT EXISTS (SELECT 1 FROM files f WHERE f.blob_key = k.key)
    AND NOT EXISTS (SELECT 1 FROM avatars a WHERE a.id = split_part(k.key, '-', 1))`)

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
        const orphans = old.length === 0 ? [] : (await db.sql(selectOrphans, [old])).map(({ key }) => key)
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
