// Handlers of resumable uploads (tus 1.0.0).
import type { Handlers } from '../services/handler.ts'
import { expiryOf } from '../infra/contract/expiry.ts'
import { Replay } from '../infra/contract/replay.ts'
import { payloadTooLarge } from '../infra/errors.ts'
import { exceedsLength } from '../services/storage/uploads/append.ts'
import { checksumAlgorithms } from '../services/storage/uploads/checksum.ts'
import { acquireUploadLease, requestUploadLease } from '../services/storage/uploads/lease.ts'
import { parseUploadMetadata, type UploadFields } from '../services/storage/uploads/metadata.ts'
import { receiveBytes, receiveFirstBytes } from '../services/storage/uploads/receive.ts'
import { tusExtensions, tusVersion } from '../services/storage/uploads/tus.ts'
import {
  deleteUpload,
  insertUpload,
  openUpload,
  toUpload,
  type StoredUpload,
} from '../services/storage/uploads/uploads.ts'

export const storageUploads = {
  async createUpload(request, services) {
    const { headers, body } = request
    const fields = validateCreation(headers, services.config.uploadMaxBytes)
    const { 'upload-length': length, 'upload-metadata': rawMetadata } = headers
    let upload!: StoredUpload
    const answer = await services.once(async (tx) => {
      upload = await insertUpload(tx, services, request, { fields, rawMetadata, length })
      return {
        status: 201 as const,
        body: toUpload(upload),
        headers: { location: `/v1/storage/uploads/${upload.id}`, 'upload-expires': expiresHeader(upload) },
      }
    })
    if (answer instanceof Replay || (body === null && length > 0)) return answer
    const current = await receiveFirstBytes(services.db, services, request, upload, {
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
    const isTusClient = request.headers['tus-resumable'] !== undefined
    let upload = await openUpload(db, request)
    // A tus client is about to resume, so it needs the final offset: the request that still writes has to
    // stop first.
    if (isTusClient && upload.file_id === null) {
      if (await requestUploadLease(db, request.params.id)) upload = await openUpload(db, request)
    }
    return {
      status: 200,
      body: toUpload(upload),
      headers: {
        'upload-length': String(upload.length),
        'upload-metadata': upload.raw_metadata,
        ...progressHeaders(upload),
      },
    }
  },

  async appendUpload(request, services) {
    const { headers, body } = request
    const { 'upload-offset': offset, 'upload-checksum': checksum } = headers
    // Authorizes the caller before the current lease holder is asked to stop.
    await openUpload(services.db, request)
    const upload = await receiveBytes(services.db, services, request, { offset, body, checksum })
    return { status: 204, headers: progressHeaders(upload) }
  },

  async deleteUpload(request, { db, storage, events }) {
    await openUpload(db, request)
    const lease = await acquireUploadLease(db, request.params.id)
    try {
      return await db.transaction(async (tx) => {
        const upload = await openUpload(tx, request, { lock: true })
        request.ifMatch(toUpload(upload))
        await deleteUpload(tx, { storage, events }, upload)
        return { status: 204 }
      })
    } finally {
      await lease.release()
    }
  },
} satisfies Handlers<'storage-uploads'>

interface CreationHeaders {
  'upload-length': number
  'upload-metadata': string
}

/** Rejects an invalid upload before it is created. */
function validateCreation(headers: CreationHeaders, maxBytes: number): UploadFields {
  const { 'upload-length': length, 'upload-metadata': metadata } = headers
  if (length > maxBytes) throw payloadTooLarge(maxBytes)
  // The spec declares no Content-Length, so the type of the headers lacks it.
  if (Number((headers as unknown as Record<string, unknown>)['content-length'] ?? 0) > length)
    throw exceedsLength(length)
  const fields = parseUploadMetadata(metadata)
  return { ...fields, expires_at: expiryOf(fields)?.toISOString() }
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
