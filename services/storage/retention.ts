// What time makes superfluous in the store of files: files whose time is over, blobs whose row is gone, and what was left by
// processes that died. Nothing is removed from the store that a row still names.
import { type Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import type { Emitter } from '../events/emit.ts'
import { deleteEach, type RetentionTask } from '../../infra/jobs/retention.ts'
import { deleteBatchStep } from '../../infra/database/batch-delete.ts'
import { isOurs } from './blobs/blob-store.ts'
import { fileColumns, type File } from './files.ts'
import type { Storage } from './storage.ts'
import { tidyUploads } from './uploads/uploads.ts'

export interface StorageRetention {
  storage: Storage
  events: Emitter
}

/** What is removed at once. */
const most = { files: 100, orphaned: 1000, blobs: 200 }

export interface ExpiryOptions extends StorageRetention {
  /** Deletes the documents that were made from a file, before the file is deleted. */
  deleteDocuments(tx: Db, fileId: string): Promise<void>
}

/** Run every minute, since users wait for the room that expired files take. */
export function expiryTasks({ storage, events, deleteDocuments }: ExpiryOptions): RetentionTask[] {
  return [
    {
      name: 'expired files',
      step: deleteEach({
        list: listExpired,
        remove: (tx, file) => removeExpired(tx, { events, deleteDocuments }, file),
      }),
    },
    { name: 'uploads', step: (db) => tidyUploads(db, { storage, events }) },
    { name: 'blobs', step: (db) => removeDoomed(db, storage) },
  ]
}

export interface SweepOptions {
  /** Seconds that an upload may take at most: what is younger than that, and an hour, may still get its row. */
  uploadTimeout: number
  /** Hours between two sweeps of the whole store. Default 24. */
  hours?: number
}

/** Of whom nobody is left who could read them. Those that documents are made from go after these, with another round. */
const ofDeletedUsers = `
  SELECT f.id FROM users u JOIN files f ON f.space_id = u.id
  WHERE u.status = 'deleted' AND NOT EXISTS (SELECT FROM documents d WHERE d.file_id = f.id) LIMIT $1`

/** What only crashes and deleted accounts leave. */
export function storageRetentionTasks(
  { storage }: StorageRetention,
  { uploadTimeout, hours = 24 }: SweepOptions,
): RetentionTask[] {
  const sweep = createSweep(storage)
  let next = 0
  return [
    { name: 'files of deleted users', step: deleteBatchStep('files', ofDeletedUsers, most.orphaned) },
    {
      name: 'orphans',
      async step(db) {
        if (!sweep.underWay && Date.now() < next) return { removed: 0, more: false }
        const done = await sweep.step(db, new Date(Date.now() - (uploadTimeout + 3600) * 1000))
        if (!done.more) next = Date.now() + hours * 3_600_000
        return done
      },
    },
  ]
}

interface Expired {
  id: string
  expires_at: string
}

const expired = statement<Expired>(`
  SELECT id, expires_at FROM files WHERE expires_at <= now() AND ($1::timestamptz IS NULL OR (expires_at, id) > ($1, $2)) ORDER BY expires_at, id LIMIT $3`)
const lockExpired = statement<File>(
  `SELECT ${fileColumns} FROM files f WHERE f.id = $1 AND f.expires_at <= now() FOR UPDATE OF f SKIP LOCKED`,
)
const deleteFile = statement('DELETE FROM files WHERE id = $1')

async function listExpired(db: Db, after: Expired | null): Promise<Expired[]> {
  return await db.sql(expired, [after?.expires_at ?? null, after?.id ?? null, most.files])
}

async function removeExpired(
  tx: Db,
  { events, deleteDocuments }: Pick<ExpiryOptions, 'events' | 'deleteDocuments'>,
  { id }: Expired,
): Promise<{ removed: number; more: boolean }> {
  const [file] = await tx.sql(lockExpired, [id])
  if (file === undefined) return { removed: 0, more: false }
  await deleteDocuments(tx, id)
  await tx.sql(deleteFile, [id])
  await events.emit(tx, 'file.deleted', file, { userId: file.owner_id })
  return { removed: 1, more: false }
}

const doomed = statement<{ key: string }>(
  'SELECT key FROM doomed_blobs WHERE doomed_at <= now() ORDER BY doomed_at LIMIT $1',
)
const forget = statement('DELETE FROM doomed_blobs WHERE key = ANY($1)')
const postpone = statement(
  "UPDATE doomed_blobs SET doomed_at = now() + interval '10 minutes' WHERE key = ANY($1)",
)

/**
 * First the bytes, then the note that they have to go: done twice where a process dies in between, which changes nothing.
 * What cannot be removed now comes again later, after the others.
 */
async function removeDoomed(db: Db, storage: Storage): Promise<{ removed: number; more: boolean }> {
  const keys = (await db.sql(doomed, [most.blobs])).map(({ key }) => key)
  if (keys.length === 0) return { removed: 0, more: false }
  const { gone, error } = await (await storage.blobs()).remove(keys)
  await db.sql(forget, [gone])
  if (gone.length < keys.length) {
    await db.sql(postpone, [keys.filter((key) => !gone.includes(key))])
    throw new Error(`${keys.length - gone.length} of ${keys.length} blobs cannot be removed`, {
      cause: error,
    })
  }
  return { removed: keys.length, more: keys.length === most.blobs }
}

const unnamed = statement<{ key: string }>(`
  SELECT k.key FROM unnest($1::text[]) AS k (key)
  WHERE NOT EXISTS (SELECT 1 FROM files f WHERE f.blob_key = k.key)
    AND NOT EXISTS (SELECT 1 FROM avatars a WHERE a.id = split_part(k.key, '-', 1))`)

export interface Sweep {
  /** Whether the last step left more to do. */
  readonly underWay: boolean
  /**
   * Looks at the next page of the store and removes what no row names and is older than `before`. What cannot be removed is
   * told at the end, and keeps nothing else from it.
   */
  step(db: Db, before: Date): Promise<{ removed: number; more: boolean }>
}

export function createSweep(storage: Storage): Sweep {
  let pages: AsyncIterator<Array<{ key: string; modifiedAt: Date }>> | null = null
  let failure: unknown = null
  return {
    get underWay() {
      return pages !== null
    },
    async step(db, before) {
      const blobs = await storage.blobs()
      try {
        if (pages === null) {
          pages = blobs.list()[Symbol.asyncIterator]()
          failure = null
          await blobs.tidy(before).catch((error) => {
            failure = error
          })
          return { removed: await storage.incoming.tidy(before), more: true }
        }
        const { done, value } = await pages.next()
        if (done === true) {
          pages = null
          if (failure !== null) throw new Error('the sweep could not remove everything', { cause: failure })
          return { removed: 0, more: false }
        }
        const old = value
          .filter(({ key, modifiedAt }) => isOurs(key) && modifiedAt < before)
          .map(({ key }) => key)
        const orphans = old.length === 0 ? [] : (await db.sql(unnamed, [old])).map(({ key }) => key)
        const { gone, error } = await blobs.remove(orphans)
        failure ??= error
        return { removed: gone.length, more: true }
      } catch (error) {
        pages = null
        throw error
      }
    },
  }
}
