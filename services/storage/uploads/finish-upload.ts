// Turns a complete upload into a file, exactly once.
import type { Db, Transaction } from '../../../infra/database/database.ts'
import * as sql from '../../../generated/sql/storage.ts'
import { ApiError, notFound, RolledBack } from '../../../infra/errors.ts'
import { addFile } from '../create-file.ts'
import { newFileId } from '../files.ts'
import { chooseFolderOfUpload } from '../folders.ts'
import { checksumMismatch } from './checksum.ts'
import { completeFile, type CompleteFile } from './complete-file.ts'
import { leaseLost, type Lease } from './lease.ts'
import { deleteUpload, type StoredUpload, type UploadAccess, type UploadServices } from './uploads.ts'

/** Rolls back because another request has finished the upload. */
class AlreadyFinished extends RolledBack {
  fileId: string

  constructor(fileId: string) {
    super('the upload is already finished')
    this.fileId = fileId
  }
}

/**
 * Locks the row until the transaction ends. Throws unless the upload is unfinished and the lease is still
 * held.
 */
async function lockLeasedUpload(tx: Transaction, id: string, lease: Lease): Promise<StoredUpload> {
  const row = await sql.lockUpload(tx, { id })
  if (row === undefined) throw notFound('upload', id)
  if (row.file_id !== null) throw new AlreadyFinished(row.file_id)
  // A new lease holder may change the bytes.
  if (row.holder !== lease.id) throw leaseLost()
  return row
}

/**
 * Creates the file of a complete, leased upload. Throws 460 and deletes the upload when the bytes do not
 * match its `sha256`, 409 when the place of the file is taken, and 410 or 415 when an upload link refuses it;
 * after any other error the client can retry.
 * @returns the id of the file, also when it was created before.
 */
export async function finishUpload(
  db: Db,
  services: UploadServices,
  access: UploadAccess,
  upload: StoredUpload,
  lease: Lease,
): Promise<string> {
  if (upload.file_id !== null) return upload.file_id
  const complete = await completeFile(services.storage, upload, lease)
  try {
    if (upload.sha256 !== null && upload.sha256 !== complete.sha256) {
      await deleteLeasedUpload(db, services, upload.id, lease)
      throw checksumMismatch(
        'sha256',
        'sha256',
        `The SHA-256 of the received bytes is ${complete.sha256}; the upload was deleted.`,
      )
    }
    access.check?.(complete)
    return await storeFile(db, services, access, upload, lease, complete)
  } catch (error) {
    if (error instanceof AlreadyFinished) return error.fileId
    if (error instanceof ApiError && isFinal(error)) await deleteLeasedUpload(db, services, upload.id, lease)
    throw error
  } finally {
    await complete.discard()
  }
}

/** Whether the same bytes can never become the file: its place is taken, or an upload link refuses them. */
function isFinal({ status, details }: ApiError): boolean {
  return status === 410 || status === 415 || details.constraint === 'name_taken'
}

async function deleteLeasedUpload(db: Db, services: UploadServices, id: string, lease: Lease): Promise<void> {
  await db.transaction(async (tx) => await deleteUpload(tx, services, await lockLeasedUpload(tx, id, lease)))
}

async function storeFile(
  db: Db,
  services: UploadServices,
  access: UploadAccess,
  upload: StoredUpload,
  lease: Lease,
  complete: CompleteFile,
): Promise<string> {
  const fileId = newFileId()
  await complete.store(fileId, (blobKey) =>
    db.transaction(async (tx) => {
      const { project_id: projectId, user_id: ownerId, name, visibility, metadata, tags } = upload
      const { bytes, contentType, sha256 } = complete
      // The upload may have taken long, so access, lease and quota are checked again.
      const workspaceId = await access.authorize(tx, upload, { lock: true })
      const { path, folder_id: folderId } = await lockLeasedUpload(tx, upload.id, lease)
      const workspace = { workspaceId, projectId, ownerId }
      const file = {
        projectId,
        ownerId,
        name,
        folder: await chooseFolderOfUpload(tx, services.events, workspace, { folderId, path }),
        visibility,
        metadata,
        tags,
        contentType,
        declaredContentType: upload.declared_content_type,
        bytes,
        sha256,
        expiresAt: upload.file_expires_at,
        blobKey,
        onConflict: upload.on_conflict,
      }
      await addFile(tx, services, fileId, file, upload.id)
      await sql.setFileOfUpload(tx, { id: upload.id, file_id: fileId })
      await access.onFile?.(tx)
    }),
  )
  return fileId
}
