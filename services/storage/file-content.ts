// The content of a file: another one replaces it, and the former one is kept as a version.
import { lockProject } from '../../generated/sql/projects.ts'
import * as sql from '../../generated/sql/storage.ts'
import type { Config } from '../../infra/config/config.ts'
import type { FilePart, OperationInfo } from '../../infra/contract/operation.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { inProgress, invalidField, RolledBack } from '../../infra/errors.ts'
import { newId } from '../../infra/ids.ts'
import type { Emitter } from '../events/emit.ts'
import type { Principal } from '../users/authentication.ts'
import type { TempFile } from './blobs/temp-files.ts'
import { newFileId, openFile, toFile, type StoredFile } from './files.ts'
import { lockFolders } from './folders.ts'
import { quotaExceeded, quotaFor, takeStorage, usageOf } from './quota.ts'
import type { Reservation } from './reservations.ts'
import type { Storage } from './storage.ts'

export interface ReplaceContentServices {
  db: Db
  config: Readonly<Config>
  storage: Storage
  events: Emitter
}

export interface ReplaceContentRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
  noteProject?(id: string): void
  ifMatch(entity: unknown): void
}

export interface NewContent {
  file: FilePart
  /** The expected SHA-256 in hex. Called after the file was read. */
  sha256(): string | undefined
}

/** Rolls back, because the file has these bytes already. */
class Unchanged extends RolledBack {
  file: StoredFile

  constructor(file: StoredFile) {
    super('the file has these bytes already')
    this.file = file
  }
}

/**
 * Replaces the content of a file; the former one becomes a version. The same bytes change nothing. Throws 413
 * as soon as the content exceeds the quota, 400 when its SHA-256 differs, and 403, 404, 409 or 412. Nothing
 * remains of a content that was not accepted.
 */
export async function replaceContent(
  services: ReplaceContentServices,
  request: ReplaceContentRequest,
  content: NewContent,
): Promise<StoredFile> {
  const { db, config, storage } = services
  const read = await openFile(db, request)
  request.ifMatch(read)
  const workspaceId = read.project_id ?? read.owner_id
  const quota = quotaFor(config, read.project_id)
  const error = async (): Promise<Error> => {
    const { bytes, reserved } = await usageOf(db, workspaceId)
    return quotaExceeded(workspaceId, quota, bytes + reserved)
  }
  const reservation = storage.reservations.begin({ places: [{ workspaceId, quota }], error })
  try {
    const received = await storage.tempFiles.receive(content.file, {
      maxBytes: config.uploadMaxBytes,
      admission: reservation,
    })
    try {
      const sha256 = content.sha256()
      if (sha256 !== undefined && sha256 !== received.sha256)
        throw invalidField('sha256', 'sha256', `The SHA-256 of the received file is ${received.sha256}.`)
      const key = newFileId()
      return await storage.storeBlob(key, received, () =>
        db.transaction((tx) =>
          storeContent(tx, services, request, { key, received, reservation, read, content }),
        ),
      )
    } catch (error) {
      if (error instanceof Unchanged) return error.file
      throw error
    } finally {
      await received.discard()
    }
  } finally {
    await reservation.end()
  }
}

interface ReceivedContent {
  key: string
  received: TempFile
  reservation: Reservation
  /** The file before its content was received. */
  read: StoredFile
  content: NewContent
}

async function storeContent(
  tx: Transaction,
  { config, events }: ReplaceContentServices,
  request: ReplaceContentRequest,
  { key, received, reservation, read, content }: ReceivedContent,
): Promise<StoredFile> {
  // The upload may have taken long, so access and quota are checked again, with the project locked.
  if (read.project_id !== null) await lockProject(tx, { id: read.project_id })
  // The storage is locked before the file, as for every change of a place.
  const workspaceId = read.project_id ?? read.owner_id
  await lockFolders(tx, workspaceId)
  const previous = await openFile(tx, request, { lock: true })
  request.ifMatch(previous)
  if ((previous.project_id ?? previous.owner_id) !== workspaceId)
    throw inProgress('Another request has moved the file to another project.')
  if (previous.sha256 === received.sha256) throw new Unchanged(toFile(previous))
  const kept = config.storageVersions
  await sql.trimVersions(tx, { file_id: previous.id, kept: Math.max(0, kept - 1) })
  const bytes = received.bytes - (kept === 0 ? previous.bytes : 0)
  const quota = quotaFor(config, previous.project_id)
  await takeStorage(tx, workspaceId, { id: reservation.id, bytes, quota })
  const file = await sql.replaceContent(tx, {
    id: previous.id,
    version_id: newId('ver'),
    is_kept: kept > 0,
    blob_key: key,
    bytes: received.bytes,
    sha256: received.sha256,
    content_type: received.contentType,
    declared_content_type: content.file.declaredType,
    user_id: request.principal.userId,
  })
  tx.afterCommit(() => reservation.end({ isDeleted: true }))
  await events.emit(tx, 'file.updated', file, { previous: toFile(previous), userId: file.owner_id })
  return file
}
