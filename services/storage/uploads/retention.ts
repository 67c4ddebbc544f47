// Data retention of uploads: deletes expired uploads, and partial files that no unfinished upload uses.
import type { Db } from '../../../infra/database/database.ts'
import * as sql from '../../../generated/sql/storage.ts'
import { deleteUpload, deleteUploadRows, type UploadServices } from './uploads.ts'

const batchSize = 100

/** The step of a retention task. */
export async function deleteExpiredUploads(
  db: Db,
  services: Pick<UploadServices, 'storage' | 'events'>,
): Promise<{ removed: number; more: boolean }> {
  const removed = await db.transaction(async (tx) => {
    const uploads = await sql.lockExpiredUploads(tx, { limit: batchSize })
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
  // Throws unless the folder is this database's.
  await services.storage.claim()
  let unusedFiles = 0
  for await (const names of partialFiles.list()) {
    const unused = (await sql.listUnusedPartialFiles(db, { names })).map(({ name }) => name)
    await partialFiles.delete(unused)
    unusedFiles += unused.length
  }
  return { removed: removed + unusedFiles, more: false }
}
