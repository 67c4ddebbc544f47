// Receives the bytes of an upload: checks the offset, appends them under the upload's lease, and finishes a
// complete upload.
import * as sql from '../../../generated/sql/storage.ts'
import type { FilePart } from '../../../infra/contract/operation.ts'
import type { Db } from '../../../infra/database/database.ts'
import { ApiError, conflict } from '../../../infra/errors.ts'
import { PartsLost } from '../blobs/blob-store.ts'
import type { Storage } from '../storage.ts'
import { append } from './append.ts'
import { parseChecksum } from './checksum.ts'
import { finishUpload } from './finish-upload.ts'
import { acquireUploadLease, type Lease } from './lease.ts'
import { openPlace, restart } from './place.ts'
import {
  deleteUnclaimedUpload,
  openUpload,
  type StoredUpload,
  type UploadAccess,
  type UploadServices,
} from './uploads.ts'

export interface UploadBytes {
  /** The Upload-Offset header. */
  offset: number
  body: FilePart | null
  /** The Upload-Checksum header. */
  checksum: string | undefined
}

/**
 * Appends the body, and creates the file when the upload is complete. Throws 409 for a wrong offset or while
 * another request writes to the upload.
 * @returns the upload after the request.
 */
export async function receiveBytes(
  db: Db,
  services: UploadServices,
  access: UploadAccess,
  { offset, body, checksum }: UploadBytes,
): Promise<StoredUpload> {
  const { storage } = services
  const lease = await acquireUploadLease(db, access.id)
  try {
    const upload = await openUpload(db, access)
    if (offset !== upload.offset && offset !== upload.received)
      throw conflict('offset', `The offset of the upload is ${upload.offset}.`, 'Upload-Offset')
    try {
      const received = await appendBody(storage, upload, lease, { offset, body, checksum })
      if (received.offset < upload.length) return received
      return { ...received, file_id: await finishUpload(db, services, access, received, lease) }
    } catch (error) {
      if (!(error instanceof PartsLost)) throw error
      await restart(storage, lease, upload)
      throw conflict(
        'offset',
        'The file store has lost the bytes of this upload: begin at 0.',
        'Upload-Offset',
      )
    }
  } finally {
    await lease.release()
  }
}

/** @returns the upload after the request. */
async function appendBody(
  storage: Storage,
  upload: StoredUpload,
  lease: Lease,
  { offset, body, checksum }: UploadBytes,
): Promise<StoredUpload> {
  const { multipart, open } = await openPlace(storage, upload, lease)
  if (body === null) return { ...upload, multipart, offset }
  const progress = await append(open, lease, {
    offset,
    received: upload.received,
    length: upload.length,
    multipart,
    content: body.content,
    checksum: parseChecksum(checksum),
  })
  return { ...upload, offset: progress.bytes, multipart: progress.multipart ?? null }
}

export interface FirstBytes extends Omit<UploadBytes, 'offset'> {
  /** Whether the client can find the upload by repeating the request with its Idempotency-Key. */
  isRepeatable: boolean
}

/**
 * Appends the body of the request that has created the upload. The upload stays without bytes when the
 * checksum does not match. After any other error it is deleted, because the client never learns its id,
 * unless the request is repeatable.
 */
export async function receiveFirstBytes(
  db: Db,
  services: UploadServices,
  access: UploadAccess,
  upload: StoredUpload,
  { isRepeatable, body, checksum }: FirstBytes,
): Promise<StoredUpload> {
  try {
    const received = await receiveBytes(db, services, access, { offset: 0, body, checksum })
    return (await sql.findUpload(db, { id: upload.id })) ?? received
  } catch (error) {
    if (error instanceof ApiError && error.details.constraint === 'checksum') return upload
    if (!isRepeatable) await deleteUnclaimedUpload(db, services, upload.id).catch(() => {})
    throw error
  }
}
