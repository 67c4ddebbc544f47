// Data retention of storage: deletes expired files and uploads. Their blobs stay in quarantine until the
// sweep of the store removes them.
import type { Config } from '../../infra/config/config.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/storage.ts'
import type { Emitter } from '../events/emit.ts'
import { deleteBatch, deleteEach, type RetentionTask } from '../../infra/jobs/retention.ts'
import { deleteFile } from './delete-file.ts'
import type { Storage } from './storage.ts'
import { deleteTrashed } from './trash.ts'
import { createSweep, type SweepLog } from './sweep.ts'
import { deleteExpiredUploads } from './uploads/retention.ts'

export interface StorageRetention {
  storage: Storage
  events: Emitter
}

const batchSize = {
  expiredFiles: 100,
  trash: 200,
  versions: 200,
  filesOfDeletedUsers: 1000,
  reservations: 1000,
  uploadLinks: 1000,
  archives: 1,
  usersWithFolders: 10,
}
const hoursBetweenSweeps = 24

/** Run every minute, because users wait for the quota that expired files occupy. */
export function fileExpiryTasks({ storage, events }: StorageRetention): RetentionTask[] {
  return [
    {
      name: 'expired files',
      step: deleteEach({
        list: listExpired,
        remove: (tx, file) => deleteExpired(tx, { storage, events }, file),
      }),
    },
    { name: 'files in the trash', step: (db) => purgeTrash(db, events) },
    { name: 'uploads', step: (db) => deleteExpiredUploads(db, { storage, events }) },
    {
      name: 'storage reservations',
      step: deleteBatch(sql.deleteAbandonedReservations, batchSize.reservations),
    },
  ]
}

export interface StorageRetentionOptions {
  config: Pick<
    Config,
    | 'storageSweep'
    | 'storageVersionDays'
    | 'storageQuarantineDays'
    | 'storageSweepMaxPercent'
    | 'resumableUploadHours'
    | 'storageSecond'
    | 'uploadTimeout'
  >
  log: SweepLog
}

/** Deletes what deleted accounts and crashes leave behind, and sweeps the store once a day. */
export function storageRetentionTasks(
  { storage }: Pick<StorageRetention, 'storage'>,
  { config, log }: StorageRetentionOptions,
): RetentionTask[] {
  const sweep = createSweep(storage, { config, log })
  const days = config.storageVersionDays
  return [
    {
      name: 'files of deleted users',
      step: deleteBatch(sql.deleteFilesOfDeletedUsers, batchSize.filesOfDeletedUsers),
    },
    {
      name: 'versions of files',
      step: deleteBatch((db, { limit }) => sql.deleteOldVersions(db, { limit, days }), batchSize.versions),
    },
    { name: 'archives', step: deleteBatch(sql.deleteExpiredArchives, batchSize.archives) },
    { name: 'upload links', step: deleteBatch(sql.deleteOldUploadLinks, batchSize.uploadLinks) },
    {
      name: 'folders of deleted users',
      step: deleteBatch(sql.deleteFoldersOfDeletedUsers, batchSize.usersWithFolders),
    },
    {
      name: 'blobs',
      async step(db) {
        const isDue = config.storageSweep && (sweep.isRunning || (await isSweepDue(db)))
        if (!isDue) return { removed: 0, more: false }
        // A blob that is at most an hour older than the longest upload may still get its row.
        return await sweep.step(db, new Date(Date.now() - (config.uploadTimeout + 3600) * 1000))
      },
    },
  ]
}

async function isSweepDue(db: Db): Promise<boolean> {
  return (await sql.readIdentity(db, { hours: hoursBetweenSweeps })).is_due
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

/** Deletes files whose time in the trash is over. */
async function purgeTrash(db: Db, events: Emitter): Promise<{ removed: number; more: boolean }> {
  const limit = batchSize.trash
  const removed = await db.transaction(async (tx) => {
    const files = await sql.lockPurgeableFiles(tx, { limit })
    await deleteTrashed(tx, { events }, files)
    return files.length
  })
  return { removed, more: removed === limit }
}

async function deleteExpired(
  tx: Transaction,
  services: StorageRetention,
  { id }: sql.ListExpiredFilesRow,
): Promise<{ removed: number; more: boolean }> {
  const file = await sql.lockExpiredFile(tx, { id })
  if (file === undefined) return { removed: 0, more: false }
  await deleteFile(tx, services, file)
  return { removed: 1, more: false }
}
