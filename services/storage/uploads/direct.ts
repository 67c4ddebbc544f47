// Direct uploads: the client sends the parts of an upload to the bucket itself, with URLs that this server
// signs. The bytes pass neither the sockets nor the disk of a server until the upload is complete; then they
// are read once for their SHA-256.
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
import { openUpload, type StoredUpload, type UploadRequest, type UploadServices } from './uploads.ts'

type Request = UploadRequest & { params: { id: string } }

/** The URLs of one response. */
const maxUrls = 100
const urlSeconds = 3_600
/** The numbers of missing parts in an error. */
const maxNamed = 10

/** The URLs of the parts that have not arrived. Throws 409 without a bucket, or for bytes sent by PATCH. */
export async function signParts(
  db: Db,
  services: UploadServices,
  request: Request,
): Promise<components['schemas']['UploadParts']> {
  const now = Date.now()
  const finished = { parts: [], missing: 0, expires_at: new Date(now).toISOString() }
  return await withLease(db, services, request, finished, async ({ parts, multipart, upload }) => {
    const isComplete = upload.received === upload.length
    const missing = isComplete ? [] : missingOf(upload, multipart, await parts.list(multipart))
    const seconds = Math.ceil(Math.min(urlSeconds, (Date.parse(upload.expires_at) - now) / 1000))
    const signed = await Promise.all(
      missing.slice(0, maxUrls).map(async (part) => ({
        ...part,
        offset: (part.number - 1) * multipart.part_size,
        url: await parts.presign(multipart, part, seconds),
      })),
    )
    const expiresAt = new Date(now + seconds * 1000).toISOString()
    return { parts: signed, missing: missing.length, expires_at: expiresAt }
  })
}

/**
 * Creates the file of an upload whose parts are all in the bucket. Throws 409 for missing parts, and what
 * `finishUpload` throws.
 * @returns the upload afterwards; as it is if it was finished before.
 */
export async function completeDirectUpload(
  db: Db,
  services: UploadServices,
  request: Request,
): Promise<StoredUpload> {
  return await withLease(db, services, request, null, async ({ parts, multipart, upload, lease }) => {
    // A request before has completed it, and could not create the file.
    if (upload.received === upload.length)
      return { ...upload, file_id: await finishUpload(db, services, request, upload, lease) }
    const stored = await parts.list(multipart)
    const missing = missingOf(upload, multipart, stored)
    if (missing.length > 0) throw missingParts(missing)
    const progress = { ...multipart, etags: stored.map(({ etag }) => etag), tail: null }
    await lease.recordProgress(upload.length, progress)
    const received = { ...upload, received: upload.length, offset: upload.length, multipart: progress }
    return { ...received, file_id: await finishUpload(db, services, request, received, lease) }
  })
}

interface DirectUpload {
  parts: BlobParts
  multipart: Multipart
  upload: StoredUpload
  lease: Lease
}

/** Works on an unfinished upload in the bucket while no other request does. `finished`: the result otherwise. */
async function withLease<T>(
  db: Db,
  services: UploadServices,
  request: Request,
  finished: T | null,
  work: (direct: DirectUpload) => Promise<T>,
): Promise<T> {
  const { storage } = services
  const { parts } = await storage.blobStore()
  await openUpload(db, request)
  const lease = await acquireUploadLease(db, request.params.id)
  try {
    const upload = await openUpload(db, request)
    if (upload.file_id !== null) return finished ?? (upload as T)
    const { multipart } = parts === null ? { multipart: null } : await openPlace(storage, upload, lease)
    if (parts === null || multipart === null)
      throw conflict('no_bucket', 'The bytes of this upload are not in a bucket: send them with PATCH.')
    if (upload.received > 0 && upload.received < upload.length)
      throw conflict('offset', 'The upload has received bytes by PATCH: send the others with PATCH, too.')
    try {
      return await work({ parts, multipart, upload, lease })
    } catch (error) {
      if (!(error instanceof PartsLost)) throw error
      await restart(storage, lease, upload)
      throw conflict('parts', 'The bucket has lost the parts of this upload: send them again.')
    }
  } finally {
    await lease.release()
  }
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
  const numbers = missing.slice(0, maxNamed).map(({ number }) => number)
  const more = missing.length > maxNamed ? ' and others' : ''
  return conflict('parts', `Parts have not arrived with their size: ${numbers.join(', ')}${more}.`)
}
