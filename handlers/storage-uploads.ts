// Handlers of resumable uploads (tus 1.0.0).
import type { Handlers } from '../services/handler.ts'
import { expiryOf } from '../infra/contract/expiry.ts'
import { Replay } from '../infra/contract/replay.ts'
import type { FilePart } from '../infra/contract/operation.ts'
import type { Db } from '../infra/database/database.ts'
import { payloadTooLarge } from '../infra/errors.ts'
import { openPlace } from '../services/storage/folders.ts'
import { requireNoShare } from '../services/storage/shares.ts'
import { accessByLink, createLinkUpload, forStranger } from '../services/storage/upload-links.ts'
import { exceedsLength } from '../services/storage/uploads/append.ts'
import { checksumAlgorithms } from '../services/storage/uploads/checksum.ts'
import { acquireUploadLease, requestUploadLease } from '../services/storage/uploads/lease.ts'
import { parseUploadMetadata } from '../services/storage/uploads/metadata.ts'
import { receiveBytes, receiveFirstBytes } from '../services/storage/uploads/receive.ts'
import { tusExtensions, tusVersion } from '../services/storage/uploads/tus.ts'
import {
  accessOf,
  deleteUpload,
  insertUpload,
  openUpload,
  toLinkUpload,
  toUpload,
  type NewUpload,
  type StoredUpload,
  type UploadAccess,
  type UploadServices,
} from '../services/storage/uploads/uploads.ts'

export const storageUploads = {
  async createUpload(request, services) {
    const { headers, body } = request
    const created = validateCreation(headers, services.config.uploadMaxBytes)
    const { project_id: projectId, folder_id: folderId, visibility } = created.fields
    let upload!: StoredUpload
    const answer = await services.once(async (tx) => {
      const place = await openPlace(tx, request, { projectId, folderId }, { lock: true })
      if (visibility === 'public') requireNoShare({ by_share: place.byShare }, 'publish files')
      upload = await insertUpload(tx, services, { ...place, linkId: null }, created)
      return {
        status: 201 as const,
        body: toUpload(upload),
        headers: { location: `/v1/storage/uploads/${upload.id}`, 'upload-expires': expiresHeader(upload) },
      }
    })
    if (answer instanceof Replay || (body === null && created.length > 0)) return answer
    const access = accessOf(request, upload.id)
    const current = await receiveFirstBytes(services.db, services, access, upload, {
      isRepeatable: headers['idempotency-key'] !== undefined,
      body,
      checksum: headers['upload-checksum'],
    })
    const { location } = answer.headers
    return { status: 201, body: toUpload(current), headers: { location, ...progressHeaders(current) } }
  },

  async getUploadOptions(_request, { config }) {
    return {
      status: 204,
      headers: {
        'tus-version': tusVersion,
        'tus-extension': tusExtensions.join(','),
        'tus-max-size': String(config.uploadMaxBytes),
        'tus-checksum-algorithm': checksumAlgorithms.join(','),
      },
    }
  },

  async getUpload(request, { db }) {
    const upload = await readProgress(db, accessOf(request, request.params.id), request.headers)
    return { status: 200, body: toUpload(upload), headers: stateHeaders(upload) }
  },

  async appendUpload(request, services) {
    const upload = await appendBytes(services, accessOf(request, request.params.id), request)
    return { status: 204, headers: progressHeaders(upload) }
  },

  async deleteUpload(request, services) {
    await cancel(services, accessOf(request, request.params.id), (upload) =>
      request.ifMatch(toUpload(upload)),
    )
    return { status: 204 }
  },

  async createLinkUpload({ params: { token }, headers, body }, services) {
    const created = validateCreation(headers, services.config.uploadMaxBytes, { byLink: true })
    const current = await createLinkUpload(services, token, created, {
      body: body === null && created.length > 0 ? undefined : body,
      checksum: headers['upload-checksum'],
    })
    const location = `/v1/storage/upload-links/${token}/uploads/${current.id}`
    return { status: 201, body: toLinkUpload(current), headers: { location, ...progressHeaders(current) } }
  },

  async getLinkUpload({ params: { token, id }, headers }, { db }) {
    const upload = await readProgress(db, accessByLink(token, id), headers)
    return { status: 200, body: toLinkUpload(upload), headers: stateHeaders(upload) }
  },

  async appendLinkUpload({ params: { token, id }, ...request }, services) {
    const upload = await forStranger(services, () => appendBytes(services, accessByLink(token, id), request))
    return { status: 204, headers: progressHeaders(upload) }
  },

  async deleteLinkUpload({ params: { token, id }, ...request }, services) {
    await cancel(services, accessByLink(token, id), (upload) => request.ifMatch(toLinkUpload(upload)))
    return { status: 204 }
  },
} satisfies Handlers<'storage-uploads'>

/** A tus client is about to resume, so it needs the final offset: a request that still writes stops first. */
async function readProgress(
  db: Db,
  access: UploadAccess,
  { 'tus-resumable': version }: { 'tus-resumable'?: string },
): Promise<StoredUpload> {
  const upload = await openUpload(db, access)
  if (version === undefined || upload.file_id !== null) return upload
  return (await requestUploadLease(db, access.id)) ? await openUpload(db, access) : upload
}

interface Appended {
  headers: { 'upload-offset': number; 'upload-checksum'?: string }
  body: FilePart
}

async function appendBytes(
  services: UploadServices & { db: Db },
  access: UploadAccess,
  { headers: { 'upload-offset': offset, 'upload-checksum': checksum }, body }: Appended,
): Promise<StoredUpload> {
  // Authorizes the caller before the current lease holder is asked to stop.
  await openUpload(services.db, access)
  return await receiveBytes(services.db, services, access, { offset, body, checksum })
}

/** Deletes an upload that no request writes to. `check` throws to keep it. */
async function cancel(
  { db, ...services }: UploadServices & { db: Db },
  access: UploadAccess,
  check: (upload: StoredUpload) => void,
): Promise<void> {
  await openUpload(db, access)
  const lease = await acquireUploadLease(db, access.id)
  try {
    await db.transaction(async (tx) => {
      const upload = await openUpload(tx, access, { lock: true })
      check(upload)
      await deleteUpload(tx, services, upload)
    })
  } finally {
    await lease.release()
  }
}

interface CreationHeaders {
  'upload-length': number
  'upload-metadata': string
}

/** Rejects an invalid upload before it is created. */
function validateCreation(headers: CreationHeaders, maxBytes: number, { byLink = false } = {}): NewUpload {
  const { 'upload-length': length, 'upload-metadata': rawMetadata } = headers
  if (length > maxBytes) throw payloadTooLarge(maxBytes)
  // The spec declares no Content-Length, so the type of the headers lacks it.
  if (Number((headers as unknown as Record<string, unknown>)['content-length'] ?? 0) > length)
    throw exceedsLength(length)
  const fields = parseUploadMetadata(rawMetadata, { byLink })
  return { fields: { ...fields, expires_at: expiryOf(fields)?.toISOString() }, rawMetadata, length }
}

function stateHeaders(upload: StoredUpload): Record<string, string> {
  return {
    'upload-length': String(upload.length),
    'upload-metadata': upload.raw_metadata,
    ...progressHeaders(upload),
  }
}

function progressHeaders(upload: StoredUpload): Record<string, string> {
  return {
    'upload-offset': String(upload.offset),
    ...(upload.file_id === null
      ? { 'upload-expires': expiresHeader(upload) }
      : { 'upload-file-id': upload.file_id }),
  }
}

function expiresHeader(upload: StoredUpload): string {
  return new Date(upload.expires_at).toUTCString()
}
