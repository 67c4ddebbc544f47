// Storage usage and quota of a workspace: a project, or a user's files outside of projects.
import type { Config } from '../../infra/config/config.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/storage.ts'
import { limitReached, type ApiError } from '../../infra/errors.ts'

/**
 * `bytes` has those of the trash and of versions. `reserved`: those of unfinished uploads and of uploads in
 * progress.
 */
export interface Usage {
  files: number
  bytes: number
  trashed_files: number
  trashed_bytes: number
  versions: number
  version_bytes: number
  reserved: number
}

export async function usageOf(db: Db, workspaceId: string): Promise<Usage> {
  return await sql.readUsage(db, { workspace_id: workspaceId })
}

/** The quota in bytes of a project, or of a user when `projectId` is null. */
export function quotaFor(config: Readonly<Config>, projectId: string | null): number {
  return projectId === null ? config.storageQuotaUser : config.storageQuotaProject
}

/**
 * Uploads at once may bring some bytes that they have not reserved (see `unreservedBytes`). As long as these
 * are few, a file that fits is not refused because of reservations of others, so that uploads at once end
 * exactly at the quota. More of them, such as many small files during a large upload, are refused.
 */
const toleratedBytes = 16 * 1024 * 1024

/**
 * Takes the bytes of a new file out of the quota, in the transaction that inserts the file. `id`: the
 * reservation, which ends, or the unfinished upload. Locks the storage of the workspace until the transaction
 * ends. Throws 413 when the file exceeds the quota.
 */
export async function takeStorage(
  tx: Transaction,
  workspaceId: string,
  { id, bytes, quota }: { id: string | null; bytes: number; quota: number },
): Promise<void> {
  const { taken, used } = await sql.endReservationAndLockStorage(tx, { workspace_id: workspaceId, id })
  if (taken + bytes > quota || used + bytes > quota + toleratedBytes)
    throw quotaExceeded(workspaceId, quota, taken)
}

/** An upload that does not fit into the storage quota of a workspace. */
export function quotaExceeded(workspaceId: string, limit: number, used: number): ApiError {
  const name = workspaceId.startsWith('prj_') ? 'project_storage_bytes' : 'storage_bytes'
  const message = `This would exceed the quota of ${limit} bytes.`
  const reached = { name, limit, used, resets_at: null }
  const error = limitReached('PAYLOAD_TOO_LARGE', 'quota', message, reached)
  return Object.assign(error, { limitedId: workspaceId })
}
