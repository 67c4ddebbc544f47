// Generated from prisma/sql by `npm run generate`. Do not edit.
import { optional } from '../../infra/database/queries.ts'

/**
 * Confirms a restored copy: from now on it sends webhooks and charges. None if there is nothing to confirm.
 * @see prisma/sql/backup/confirm-restored-copy.sql
 */
export const confirmRestoredCopy = optional<{}, ConfirmRestoredCopyRow>(
  'backup/confirm-restored-copy',
  `UPDATE restored_copy SET confirmed_at = now() WHERE confirmed_at IS NULL
RETURNING backup_id, backup_created_at`,
)
export interface ConfirmRestoredCopyRow {
  backup_id: string
  backup_created_at: string
}

/**
 * The backup that this database was restored from. None for a database that is no restored copy.
 * @see prisma/sql/backup/find-restored-copy.sql
 */
export const findRestoredCopy = optional<{}, FindRestoredCopyRow>(
  'backup/find-restored-copy',
  `SELECT backup_id, backup_created_at, restored_at, confirmed_at FROM restored_copy`,
  [],
  { reads: true },
)
export interface FindRestoredCopyRow {
  backup_id: string
  backup_created_at: string
  restored_at: string
  confirmed_at: string | null
}
