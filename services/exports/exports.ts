// Exports: files with all data of an account. A user has one unfinished export, and may start three a day.
import * as sql from '../../generated/sql/exports.ts'
import type { components } from '../../generated/types.ts'
import type { Bytes } from '../../infra/contract/operation.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { limitReached, notFound } from '../../infra/errors.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import type { Queue, QueueOptions } from '../../infra/jobs/queue.ts'
import { deleteBatch, type RetentionTask } from '../../infra/jobs/retention.ts'
import type { Emitter } from '../events/emit.ts'
import { alertUser, type MailServices } from '../mail/mails.ts'
import { BlobNotFound, type BlobStore } from '../storage/blobs/blob-store.ts'
import { missingContent } from '../storage/missing-content.ts'
import { lockActiveUser } from '../users/users.ts'

type AccountExport = components['schemas']['AccountExport']

export interface ExportJob {
  export_id: string
  user_id: string
  /** The number of failed attempts. */
  tries: number
}

export const exportQueue: QueueOptions = {
  name: 'exports',
  // Longer than any export takes. A worker that dies is noticed earlier, by its missing heartbeat.
  expireInSeconds: 21_600,
  heartbeatSeconds: 30,
  groupConcurrency: 1,
}

const exportsPerDay = 3
const rowsPerStep = 100

export interface ExportServices extends MailServices {
  exports: Queue<ExportJob>
  events: Emitter
  publicUrl: () => string
}

/**
 * Starts an export, or returns the one that is being written.
 * @throws 429 `exports_per_day`.
 */
export async function startExport(
  tx: Transaction,
  services: ExportServices,
  userId: string,
): Promise<AccountExport> {
  await lockActiveUser(tx, userId)
  const unfinished = await sql.findUnfinishedExport(tx, { user_id: userId })
  if (unfinished !== undefined) return toExport(unfinished, services.publicUrl())
  await requireFewExports(tx, userId)
  const id = newId('exp')
  const row = await sql.insertExport(tx, { id, user_id: userId, created_at: timeOf(id) })
  const started = toExport(row, services.publicUrl())
  await services.exports.add(tx, [{ data: { export_id: id, user_id: userId, tries: 0 }, group: userId }])
  await services.events.emit(tx, 'account_export.created', started, { userId })
  await alertUser(tx, services, 'account_exported', userId)
  return started
}

async function requireFewExports(tx: Transaction, userId: string): Promise<void> {
  const { n: used, resets_at: resetsAt } = await sql.countExportsOfDay(tx, { user_id: userId })
  if (used < exportsPerDay) return
  throw limitReached(
    'RATE_LIMITED',
    'exports_per_day',
    `You can start ${exportsPerDay} exports in 24 hours.`,
    { name: 'exports_per_day', limit: exportsPerDay, used, resets_at: resetsAt },
    Math.max(1, Math.ceil((Date.parse(resetsAt!) - Date.now()) / 1000)),
  )
}

/** Throws 404 without an export. */
export async function findExport(db: Db, userId: string, publicUrl: string): Promise<AccountExport> {
  const row = await sql.findLatestExport(db, { user_id: userId })
  if (row === undefined) throw notFound('export')
  return toExport(row, publicUrl)
}

export function toExport(row: sql.FindLatestExportRow, publicUrl: string): AccountExport {
  const url = row.status === 'ready' ? `${publicUrl}/v1/user/export/content` : null
  return { ...row, download_url: url }
}

/** The file of the latest export that is ready. Throws 404 without one. */
export async function openExport(db: Db, blobStore: BlobStore, userId: string): Promise<Bytes> {
  const row = await sql.findContent(db, { user_id: userId })
  if (row === undefined) throw notFound('export')
  const { blob_key: key, bytes, sha256, completed_at: completedAt } = row
  return {
    type: 'application/json',
    bytes,
    etag: `"${sha256}"`,
    modifiedAt: new Date(completedAt),
    headers: {
      'cache-control': 'no-store',
      'content-disposition': `attachment; filename="account-${completedAt.slice(0, 10)}.json"`,
    },
    async open(range) {
      return await blobStore.read(key, range).catch((error) => {
        throw error instanceof BlobNotFound ? missingContent('export', error) : error
      })
    },
  }
}

export function exportRetentionTasks(): RetentionTask[] {
  return [{ name: 'expired exports', step: deleteBatch(sql.deleteExpiredExports, rowsPerStep) }]
}
