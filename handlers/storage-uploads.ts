// Resumable uploads as tus 1.0.0 has them: begun, appended to, asked after and given up.
import type { Handlers, HandlerServices } from '../services/handler.ts'
import { ApiError, conflict, payloadTooLarge } from '../infra/errors.ts'
import type { FilePart } from '../infra/contract/operation.ts'
import { append, tooMany } from '../services/storage/uploads/append.ts'
import { checksumAlgorithms, checksumOf } from '../services/storage/uploads/checksum.ts'
import { askForUpload, holdUpload } from '../services/storage/uploads/lease.ts'
import { tusExtensions, tusVersion } from '../services/storage/uploads/tus.ts'
import { requireFuture } from '../services/storage/quota.ts'
import { readUploadMetadata } from '../services/storage/uploads/metadata.ts'
import {
  discardUpload,
  finishUpload,
  forgetUpload,
  insertUpload,
  openUpload,
  takeOver,
  type OpenUpload,
  type Upload,
  type UploadRequest,
} from '../services/storage/uploads/uploads.ts'

export const storageUploads = {
  async createUpload(request, services) {
    const {
      headers: {
        'upload-length': length,
        'upload-metadata': given,
        'upload-checksum': checksum,
        'idempotency-key': key,
      },
      principal,
      body,
    } = request
    const { db, config, events, database } = services
    if (length > config.uploadMaxBytes) throw payloadTooLarge(config.uploadMaxBytes)
    // It would be begun, and nobody told where.
    if (Number((request.headers as Record<string, unknown>)['content-length'] ?? 0) > length)
      throw tooMany(length)
    const fields = readUploadMetadata(given)
    requireFuture(fields.expires_at)
    let begun!: OpenUpload
    const answer = await db.transaction(async (tx) => {
      begun = await insertUpload(tx, config, request, fields, { given, length })
      await events.emit(tx, 'upload.created', begun, { userId: principal.userId })
      return {
        status: 201 as const,
        body: shown(begun),
        headers: { location: `/v1/storage/uploads/${begun.id}`, 'upload-expires': expiryOf(begun) },
      }
    })
    if (body === null && length > 0) return answer
    // Of bytes that are not what they should be none is kept, and the upload is there all the same.
    // An Idempotency-Key is for the beginning alone: what is sent with it is gone on with.
    const own = { ...services, db: database.forRequest(request.id) }
    const upload = await receive({ ...request, params: { id: begun.id } }, own, {
      offset: 0,
      body,
      checksum,
    }).catch(async (error) => {
      if (error instanceof ApiError && error.details.constraint === 'checksum') return begun
      // Only who sent a key can ask again, and is told where it is.
      if (key === undefined) await forgetUpload(own.db, services, begun.id).catch(() => {})
      throw error
    })
    return {
      ...answer,
      body: shown(upload),
      headers: { location: answer.headers.location, ...progressOf(upload) },
    }
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
    const {
      params: { id },
      headers: { 'tus-resumable': spokenVersion },
    } = request
    let upload = await openUpload(db, request)
    // Who asks where to go on is told what is so for good.
    if (spokenVersion !== undefined && upload.file_id === null && (await askForUpload(db, id)))
      upload = await openUpload(db, request)
    return {
      status: 200,
      body: shown(upload),
      headers: {
        'upload-length': String(upload.length),
        'upload-metadata': upload.given,
        ...progressOf(upload),
      },
    }
  },

  async appendUpload(request, services) {
    const {
      headers: { 'upload-offset': offset, 'upload-checksum': checksum },
      body,
    } = request
    // Before anybody else is asked to let go.
    await openUpload(services.db, request)
    return { status: 204, headers: progressOf(await receive(request, services, { offset, body, checksum })) }
  },

  async deleteUpload(request, { db, storage, events }) {
    const {
      params: { id },
    } = request
    await openUpload(db, request)
    const hold = await holdUpload(db, id)
    try {
      return await db.transaction(async (tx) => {
        const upload = await openUpload(tx, request, { lock: true })
        request.ifMatch(shown(upload))
        await discardUpload(tx, { storage, events }, upload)
        return { status: 204 }
      })
    } finally {
      await hold.release()
    }
  },
} satisfies Handlers<'storage-uploads'>

interface Sent {
  offset: number
  body: FilePart | null
  checksum: string | undefined
}

/** Keeps what is sent, and makes the file when that is all. @returns the upload as it then is. */
async function receive(
  request: UploadRequest & { params: { id: string } },
  services: HandlerServices,
  { offset, body, checksum }: Sent,
): Promise<OpenUpload> {
  const { db, storage } = services
  const { id } = request.params
  const hold = await holdUpload(db, id)
  try {
    const upload = await openUpload(db, request)
    if (offset !== upload.offset && offset !== upload.received)
      throw conflict('offset', `The upload is at ${upload.offset}.`, 'Upload-Offset')
    await takeOver(storage.staging, upload, hold)
    const received =
      body === null
        ? offset
        : await append(storage.staging, hold, {
            ...upload,
            offset,
            content: body.content,
            checksum: checksumOf(checksum),
          })
    if (received < upload.length) return { ...upload, offset: received }
    return { ...upload, offset: received, file_id: await finishUpload(db, services, request, upload, hold) }
  } finally {
    await hold.release()
  }
}

function progressOf(upload: OpenUpload): Record<string, string> {
  return {
    'upload-offset': String(upload.offset),
    ...(upload.file_id === null
      ? { 'upload-expires': expiryOf(upload) }
      : { 'upload-file-id': upload.file_id }),
  }
}

function expiryOf(upload: OpenUpload): string {
  return new Date(upload.expires_at).toUTCString()
}

function shown({
  id,
  project_id,
  file_id,
  name,
  length,
  offset,
  expires_at,
  created_at,
}: OpenUpload): Upload {
  return { id, project_id, file_id, name, length, offset, expires_at, created_at }
}
