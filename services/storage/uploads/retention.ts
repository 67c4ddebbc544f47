// Data retention of uploads: deletes expired uploads, and partial files that no unfinished upload uses.
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import {
  deleteUpload,
  deleteUploadRows,
  uploadColumns,
  type StoredUpload,
  type UploadServices,
} from './uploads.ts'

const batchSize = 100

const lockExpired = statement<StoredUpload>(`
  SELECT ${uploadColumns} FROM uploads u WHERE u.expires_at <= now() AND coalesce(u.held_until < now(), true)
  ORDER BY u.expires_at LIMIT $1 FOR UPDATE SKIP LOCKED`)
const selectUnused = statement<{ name: string }>(`
  SELECT k.name FROM unnest($1::text[]) AS k (name)
  WHERE NOT EXISTS (
    SELECT 1 FROM uploads u WHERE u.id = split_part(k.name, '.', 1) AND u.file_id IS NULL
  )`)

/** The step of a retention task. */
export async function deleteExpiredUploads(
  db: Db,
  services: Pick<UploadServices, 'storage' | 'events'>,
): Promise<{ removed: number; more: boolean }> {
  const removed = await db.transaction(async (tx) => {
    const uploads = await tx.sql(lockExpired, [batchSize])
    // A finished upload emits no event: its file stays.
    await deleteUploadRows(
      tx,
      uploads.filter((upload) => upload.file_id !== null).map(({ id }) => id),
    )
    for (const upload of uploads) if (upload.file_id === null) await deleteUpload(tx, services, upload)
    return uploads.length
  })
  if (removed === batchSize) return { removed, more: true }
  const { partialFiles } = services.storage
  let unusedFiles = 0
  for await (const names of partialFiles.list()) {
    const unused = (await db.sql(selectUnused, [names])).map(({ name }) => name)
    await partialFiles.delete(unused)
    unusedFiles += unused.length
  }
  return { removed: removed + unusedFiles, more: false }
}
