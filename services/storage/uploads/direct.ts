// Direct uploads: the client sends the parts of an upload to the bucket itself, with URLs that this server
// signs. The bytes pass neither the sockets nor the disk of a server until the upload is complete; then they
// are read once for their SHA-256.
import * as sql from '../../../generated/sql/storage.ts'
import type { components } from '../../../generated/types.ts'
import type { Db } from '../../../infra/database/database.ts'
import { conflict } from '../../../infra/errors.ts'
import {
  PartsLost,
  type BlobParts,
  type Multipart,
  type PartSize,
  type StoredPart,
} from '../blobs/blob-store.ts'
import { finishUpload } from './finish-upload.ts'
import { acquireUploadLease, type Lease } from './lease.ts'
import { openPlace, restart } from './place.ts'
import { openUpload, type StoredUpload, type UploadAccess, type UploadServices } from './uploads.ts'

/** The URLs of one response. */
const maxUrls = 100
const urlSeconds = 3_600
/** The numbers of missing parts in an error. */
const mostInMessage = 10

/** The URLs of the parts that have not arrived. Throws 409 without a bucket, or for bytes sent by PATCH. */
export async function signParts(
  db: Db,
  services: UploadServices,
  access: UploadAccess,
): Promise<components['schemas']['UploadParts']> {
  const now = Date.now()
  return await withLease(db, services, access, async (upload, lease) => {
    if (upload.file_id !== null || isReceived(upload))
      return { parts: [], missing: 0, expires_at: upload.expires_at }
    const seconds = Math.ceil(Math.min(urlSeconds, (Date.parse(upload.expires_at) - now) / 1000))
    const expiresAt = new Date(now + seconds * 1000).toISOString()
    const { parts, multipart } = await openDirect(services, upload, lease)
    const missing = missingOf(upload, multipart, await parts.list(multipart))
    const signed = missing.slice(0, maxUrls).map(async (part) => ({
      ...part,
      offset: (part.number - 1) * multipart.part_size,
      url: await parts.presign(multipart, part, seconds),
    }))
    return { parts: await Promise.all(signed), missing: missing.length, expires_at: expiresAt }
  })
}

/**
 * Creates the file of an upload whose parts are all in the bucket, or whose bytes were all received without
 * becoming a file. Throws 409 for missing parts, and what `finishUpload` throws.
 * @returns the upload afterwards; as it is if it was finished before.
 */
export async function completeDirectUpload(
  db: Db,
  services: UploadServices,
  access: UploadAccess,
): Promise<StoredUpload> {
  return await withLease(db, services, access, async (upload, lease) => {
    if (upload.file_id !== null) return upload
    const received = isReceived(upload) ? upload : await recordParts(services, upload, lease)
    const fileId = await finishUpload(db, services, access, received, lease)
    return (await sql.findUpload(db, { id: upload.id })) ?? { ...received, file_id: fileId }
  })
}

/** Works on the upload while no other request does. Parts that the bucket has lost are sent again. */
async function withLease<T>(
  db: Db,
  services: UploadServices,
  access: UploadAccess,
  work: (upload: StoredUpload, lease: Lease) => Promise<T>,
): Promise<T> {
  await openUpload(db, access)
  const lease = await acquireUploadLease(db, access.id)
  try {
    const upload = await openUpload(db, access)
    try {
      return await work(upload, lease)
    } catch (error) {
      if (!(error instanceof PartsLost)) throw error
      await restart(services.storage, lease, upload)
      throw conflict('parts', 'The bucket has lost the parts of this upload: send them again.')
    }
  } finally {
    await lease.release()
  }
}

function isReceived({ received, length }: StoredUpload): boolean {
  return received === length
}

/** The multipart upload of an upload that received no bytes by PATCH. */
async function openDirect(
  { storage }: UploadServices,
  upload: StoredUpload,
  lease: Lease,
): Promise<{ parts: BlobParts; multipart: Multipart }> {
  const { parts } = await storage.blobStore()
  const { multipart } = await openPlace(storage, upload, lease)
  if (parts === null || multipart === null)
    throw conflict('no_bucket', 'The bytes of this upload are not in a bucket: send them with PATCH.')
  if (upload.received > 0)
    throw conflict('offset', 'The upload has received bytes by PATCH: send the others with PATCH, too.')
  return { parts, multipart }
}

/** The upload with its parts in the bucket as its bytes. */
async function recordParts(
  services: UploadServices,
  upload: StoredUpload,
  lease: Lease,
): Promise<StoredUpload> {
  const { parts, multipart } = await openDirect(services, upload, lease)
  const stored = await parts.list(multipart)
  const missing = missingOf(upload, multipart, stored)
  if (missing.length > 0) throw missingParts(missing)
  const { length } = upload
  const progress = { ...multipart, etags: stored.map(({ etag }) => etag), tail: null }
  await lease.recordProgress(length, progress)
  return { ...upload, received: length, offset: length, multipart: progress }
}

/** The parts that are not stored with their size. */
function missingOf(
  { length }: StoredUpload,
  { part_size: partSize }: Multipart,
  stored: StoredPart[],
): PartSize[] {
  const sizes = new Map(stored.map(({ number, bytes }) => [number, bytes]))
  const all = Array.from({ length: Math.ceil(length / partSize) }, (_, i) => ({
    number: i + 1,
    bytes: Math.min(partSize, length - i * partSize),
  }))
  return all.filter(({ number, bytes }) => sizes.get(number) !== bytes)
}

function missingParts(missing: PartSize[]): Error {
  const numbers = missing.slice(0, mostInMessage).map(({ number }) => number)
  const more = missing.length > mostInMessage ? ' and others' : ''
  return conflict('parts', `Parts have not arrived with their size: ${numbers.join(', ')}${more}.`)
}
