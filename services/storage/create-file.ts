// Creates files: receives an upload within the quota, stores it as a blob and inserts the row.
import type { Config } from '../../infra/config/config.ts'
import type { FilePart, OperationInfo } from '../../infra/contract/operation.ts'
import type { Db } from '../../infra/database/database.ts'
import { invalidField, payloadTooLarge, quotaExceeded } from '../../infra/errors.ts'
import type { Emitter } from '../events/emit.ts'
import { openWorkspace } from '../projects/workspaces.ts'
import type { Principal } from '../users/authentication.ts'
import type { TempFile } from './blobs/temp-files.ts'
import { insertFile, newFileId, type NewFile, type StoredFile } from './files.ts'
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

/** The fields of a new file that a client sets. */
export interface FileFields extends Omit<
  NewFile,
  'ownerId' | 'contentType' | 'declaredContentType' | 'bytes' | 'sha256'
> {
  /** The expected SHA-256 in hex. Default: not checked. */
  sha256?: string
}

export interface FileUpload {
  file: FilePart
  maxBytes: number
  /** The project of the file. undefined if it is only known after the file was read. */
  projectId: string | null | undefined
  /** Called after the file was read. */
  fields(): FileFields
  /** Throws to reject the file. Called after the file was read, before it is stored. */
  check?(received: TempFile): void
}

/**
 * Creates a file in a project or in the caller's own workspace. `respond` runs in the transaction that
 * inserts the row. Throws 413 as soon as the content exceeds the quota or `maxBytes`, 400 when its SHA-256
 * differs, and the errors of `openWorkspace`. Nothing remains of a file that was not created.
 */
export async function createFile<T>(
  services: CreateFileServices,
  request: CreateFileRequest,
  upload: FileUpload,
  respond: (tx: Db, file: StoredFile) => Promise<T>,
): Promise<T> {
  const received = await receiveWithinQuota(services, request, upload)
  try {
    const { sha256, ...fields } = upload.fields()
    if (sha256 !== undefined && sha256 !== received.sha256)
      throw invalidField('sha256', 'sha256', `The SHA-256 of the received file is ${received.sha256}.`)
    upload.check?.(received)
    if (upload.projectId === undefined) await openWorkspace(services.db, request, fields.projectId)
    const id = newFileId()
    return await services.storage.storeBlob(id, received, () =>
      services.db.transaction(async (tx) => {
        // The upload may have taken long, so access and quota are checked again.
        await openWorkspace(tx, request, fields.projectId, { lock: true })
        const created = await addFile(tx, services, id, {
          ...fields,
          ownerId: request.principal.userId,
          contentType: received.contentType,
          declaredContentType: upload.file.declaredType,
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
  services: CreateFileServices,
  request: CreateFileRequest,
  { file, projectId, maxBytes }: FileUpload,
): Promise<TempFile> {
  const { left, quota } = await quotaLeft(services, request, projectId)
  const limit = Math.min(left, maxBytes)
  return await services.storage.tempFiles.receive(file, {
    maxBytes: Math.max(0, limit),
    tooLarge: () => (left < maxBytes ? quotaExceeded(quota) : payloadTooLarge(limit)),
  })
}

/**
 * Authorizes the operation in the workspace and computes what the file may occupy there. Of an unknown
 * project, the file may occupy the whole quota; the exact check follows when the file is inserted.
 */
async function quotaLeft(
  { db, config }: CreateFileServices,
  request: CreateFileRequest,
  projectId: string | null | undefined,
): Promise<{ left: number; quota: number }> {
  const workspaceId =
    projectId === undefined ? request.principal.userId : await openWorkspace(db, request, projectId)
  const quota = quotaFor(config, projectId ?? null)
  // A request repeated with its Idempotency-Key must get its response even when the quota is full.
  if (request.headers['idempotency-key'] !== undefined) return { left: Infinity, quota }
  const left = quota - (await usageOf(db, workspaceId)).bytes
  const { storageQuotaProject } = config
  if (projectId !== undefined || left > storageQuotaProject) return { left, quota }
  return { left: storageQuotaProject, quota: storageQuotaProject }
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
): Promise<StoredFile> {
  const { projectId, ownerId } = fields
  const file = await insertFile(tx, id, fields)
  const quota = quotaFor(config, projectId)
  if ((await usageOf(tx, projectId ?? ownerId)).bytes > quota) throw quotaExceeded(quota)
  await events.emit(tx, 'file.created', file, { userId: ownerId })
  return file
}
