// Where the bytes of an unfinished upload are: in a partial file on disk, or in the parts of a multipart
// upload in S3, which any server continues.
import type { Multipart } from '../blobs/blob-store.ts'
import type { PartialFileWriter } from '../blobs/partial-files.ts'
import { beginMultipart, createPartWriter } from '../blobs/part-writer.ts'
import { newFileId } from '../files.ts'
import type { Storage } from '../storage.ts'
import type { Lease } from './lease.ts'
import type { StoredUpload } from './uploads.ts'

export interface Place {
  /** null for a partial file. */
  multipart: Multipart | null
  /** Opens the bytes for writing at the offset. */
  open(offset: number): Promise<PartialFileWriter>
}

/** The first request of an upload decides its place. To be called before any use of its bytes. */
export async function openPlace(storage: Storage, upload: StoredUpload, lease: Lease): Promise<Place> {
  const multipart = await multipartOf(storage, upload, lease)
  if (multipart === null) {
    await relocateAfterExpiry(storage, upload, lease)
    return { multipart, open: (offset) => storage.partialFiles.open(lease.tempName, offset) }
  }
  // The previous holder can write no part that counts, because the row has the ETags of the parts.
  if (lease.wasExpired) await lease.relocate(lease.tempName)
  return {
    multipart,
    open: async () => {
      const { parts } = await storage.blobStore()
      return createPartWriter(parts!, storage.tempFiles.folder, { ...upload, multipart })
    },
  }
}

async function multipartOf(storage: Storage, upload: StoredUpload, lease: Lease): Promise<Multipart | null> {
  const { multipart, file_id: fileId, received, length } = upload
  // Bytes from before a change of STORAGE, or of a version that kept them on disk, stay on disk.
  if (multipart !== null || fileId !== null || received > 0 || length === 0) return multipart
  return await restart(storage, lease, upload)
}

/** Begins the upload at its first byte in S3. @returns null if new uploads are on disk. */
export async function restart(
  storage: Storage,
  lease: Lease,
  { length, multipart: previous }: StoredUpload,
): Promise<Multipart | null> {
  const { parts } = await storage.blobStore()
  if (parts === null || (previous === null && !parts.takesNew)) return null
  const multipart = await beginMultipart(parts, newFileId(), length)
  await lease.recordProgress(0, multipart)
  // The sweep of the store deletes the parts when this fails.
  if (previous !== null) await parts.abort(previous).catch(() => {})
  return multipart
}

/**
 * Continues in a copy of the partial file when the previous lease expired, because its holder may still be
 * writing to the file.
 */
async function relocateAfterExpiry(
  { partialFiles }: Storage,
  upload: StoredUpload,
  lease: Lease,
): Promise<void> {
  if (!lease.wasExpired || upload.file_id !== null) return
  const previous = lease.tempName
  await lease.relocate(await partialFiles.copy(previous, upload.received))
  // The retention task deletes the file when this fails.
  await partialFiles.delete([previous]).catch(() => {})
}
