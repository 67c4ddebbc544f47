// Creates files: receives an upload within the quota, stores it as a blob and inserts the row.
import type { Config } from '../../infra/config/config.ts'
import type { FilePart, OperationInfo } from '../../infra/contract/operation.ts'
import type { Db } from '../../infra/database/database.ts'
import { invalidField, payloadTooLarge, quotaExceeded } from '../../infra/errors.ts'
import type { Emitter } from '../events/emit.ts'
import { openWorkspace } from '../projects/workspaces.ts'
import type { Principal } from '../users/authentication.ts'
import type { TempFile } from './blobs/temp-files.ts'
import { insertFile, newFileId, type File, type NewFile } from './files.ts'
import { quotaFor, usageOf } from './quota.ts'
import type { Storage } from './storage.ts'

export interface CreateFileServices {
  db: Db
  config: Readonly<Config>
  storage: Storage
  events: Emitter
}

export interface CreateFileRequest {
  operation: OperationInfo
  principal: Principal
  headers: { 'idempotency-key'?: string }
}

/** The content of a new file and the fields that a client sets. */
export interface FileUpload extends Omit<
  NewFile,
  'ownerId' | 'contentType' | 'declaredContentType' | 'bytes' | 'sha256'
> {
  file: FilePart
  /** The expected SHA-256 in hex. Default: not checked. */
  sha256?: string
  maxBytes: number
}

/**
 * Creates a file in a project or in the caller's own workspace. `respond` runs in the transaction that
 * inserts the row. Throws 413 as soon as the content exceeds the quota or `maxBytes`, 400 when its SHA-256
 * differs, and the errors of `openWorkspace`.
 */
export async function createFile<T>(
  services: CreateFileServices,
  request: CreateFileRequest,
  upload: FileUpload,
  respond: (tx: Db, file: File) => Promise<T>,
): Promise<T> {
  const { file, sha256, maxBytes: _maxBytes, ...fields } = upload
  const received = await receiveWithinQuota(services, request, upload)
  try {
    if (sha256 !== undefined && sha256 !== received.sha256)
      throw invalidField('sha256', 'sha256', `The SHA-256 of the received file is ${received.sha256}.`)
    const id = newFileId()
    return await services.storage.storeBlob(id, received, () =>
      services.db.transaction(async (tx) => {
        // The upload may have taken long, so access and quota are checked again.
        await openWorkspace(tx, request, fields.projectId, { lock: true })
        const created = await addFile(tx, services, id, {
          ...fields,
          ownerId: request.principal.userId,
          contentType: received.contentType,
          declaredContentType: file.declaredType,
          bytes: received.bytes,
          sha256: received.sha256,
        })
        return await respond(tx, created)
      }),
    )
  } finally {
    await received.discard()
  }
}

async function receiveWithinQuota(
  { db, config, storage }: CreateFileServices,
  request: CreateFileRequest,
  { file, name, projectId, maxBytes }: FileUpload,
): Promise<TempFile> {
  const workspaceId = await openWorkspace(db, request, projectId)
  const quota = quotaFor(config, projectId)
  // A request repeated with its Idempotency-Key must get its response even when the quota is full.
  const left =
    request.headers['idempotency-key'] === undefined
      ? quota - (await usageOf(db, workspaceId)).bytes
      : Infinity
  const limit = Math.min(left, maxBytes)
  return await storage.tempFiles.receive(file, {
    maxBytes: Math.max(0, limit),
    name,
    tooLarge: () => (left < maxBytes ? quotaExceeded(quota) : payloadTooLarge(limit)),
  })
}

/**
 * Inserts a file whose blob is stored, and emits `file.created`. The workspace must be locked. Throws 413
 * when the file exceeds the quota.
 */
export async function addFile(
  tx: Db,
  { config, events }: { config: Readonly<Config>; events: Emitter },
  id: string,
  fields: NewFile,
): Promise<File> {
  const { projectId, ownerId } = fields
  const file = await insertFile(tx, id, fields)
  const quota = quotaFor(config, projectId)
  if ((await usageOf(tx, projectId ?? ownerId)).bytes > quota) throw quotaExceeded(quota)
  await events.emit(tx, 'file.created', file, { userId: ownerId })
  return file
}
