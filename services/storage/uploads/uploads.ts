// Resumable uploads: their rows, access to them, and their deletion. An upload is created with the metadata
// of the file that it becomes.
import type { components } from '../../../generated/types.ts'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import * as sql from '../../../generated/sql/storage.ts'
import { ApiError, forbidden, gone, notFound } from '../../../infra/errors.ts'
import type { Config } from '../../../infra/config/config.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import type { Emitter } from '../../events/emit.ts'
import type { Principal } from '../../users/authentication.ts'
import { requireFreePath } from '../file-places.ts'
import { findFolder, normalizedPath, openPlace, type OpenPlace } from '../folders.ts'
import { quotaExceeded, quotaFor } from '../quota.ts'
import type { Storage } from '../storage.ts'
import type { UploadFields } from './metadata.ts'

export type Upload = components['schemas']['Upload']

/** An upload with its internal columns. */
export type StoredUpload = Readonly<sql.InsertUploadRow>

export interface UploadServices {
  config: Readonly<Config>
  storage: Storage
  events: Emitter
}

export interface UploadRequest {
  operation: OperationInfo
  principal: Principal
}

/** Who works on an upload: a user, or whoever has the token of an upload link. */
export interface UploadAccess {
  /** The id of the upload. */
  id: string
  find(db: Db): Promise<FoundUpload | undefined>
  /**
   * Checks the rights of this moment; `lock` locks the project of the upload.
   * @returns the workspace of the upload.
   */
  authorize(db: Db, upload: StoredUpload, options?: { lock?: boolean }): Promise<string>
  /** Throws to refuse the complete bytes. The upload is deleted then. */
  check?(received: { contentType: string }): void
  /** Runs in the transaction that creates the file, after its row. */
  onFile?(tx: Transaction): Promise<void>
}

type FoundUpload = StoredUpload & { is_expired: boolean }

/** Where the file of an upload will be, and who will own it. */
export interface UploadTarget {
  workspaceId: string
  projectId: string | null
  ownerId: string
  /** The upload link by which it is made; null for the upload of a user. */
  linkId: string | null
}

export interface NewUpload {
  fields: UploadFields
  /** The Upload-Metadata header from which the fields were parsed. */
  rawMetadata: string
  length: number
}

/**
 * Inserts an upload to a locked workspace and emits `upload.created`. Unfinished uploads count towards the
 * quota with their full length. Throws 413 when the quota would be exceeded, and 409 when the place of the
 * file is taken already and the upload would fail for that.
 */
export async function insertUpload(
  tx: Transaction,
  { config, events }: Pick<UploadServices, 'config' | 'events'>,
  { workspaceId, projectId, ownerId, linkId }: UploadTarget,
  { fields, rawMetadata, length }: NewUpload,
): Promise<StoredUpload> {
  const {
    name,
    path: givenPath = '',
    folder_id: folderId = null,
    declaredType,
    visibility = 'private',
    metadata = {},
    tags = [],
    expires_at: expiresAt = null,
    sha256 = null,
    on_conflict: onConflict = 'duplicate',
  } = fields
  const quota = quotaFor(config, projectId)
  const { used } = await sql.lockStorage(tx, { workspace_id: workspaceId, besides: null })
  if (used + length > quota) throw quotaExceeded(workspaceId, quota, used)
  const folder = folderId === null ? null : await findFolder(tx, workspaceId, folderId)
  const path = folder?.path ?? normalizedPath(givenPath)
  if (onConflict === 'fail') await requireFreePath(tx, { workspaceId, path, name })
  const id = newId('upl')
  const createdAt = timeOf(id)
  const upload = await sql.insertUpload(tx, {
    id,
    project_id: projectId,
    user_id: ownerId,
    upload_link_id: linkId,
    name,
    path,
    folder_id: folderId,
    declared_content_type: declaredType,
    visibility,
    metadata,
    tags,
    file_expires_at: expiresAt,
    sha256,
    on_conflict: onConflict,
    raw_metadata: rawMetadata,
    length,
    created_at: createdAt,
    expires_at: new Date(createdAt.getTime() + config.resumableUploadHours * 3_600_000),
  })
  await events.emit(tx, 'upload.created', upload, { userId: ownerId })
  return upload
}

/**
 * The access of a user: in a project the role and the state of the project decide, both as they are now, and
 * in a shared folder the share; otherwise only the user who created the upload has access.
 */
export function accessOf(request: UploadRequest, id: string): UploadAccess {
  return {
    id,
    find: async (db) => await sql.findUpload(db, { id }),
    async authorize(db, { project_id: projectId, user_id: ownerId, folder_id: folderId }, options) {
      const place = await placeOf(db, request, { projectId, folderId }, options)
      if (projectId === null && ownerId !== request.principal.userId && !place.byShare)
        throw forbidden('This upload belongs to another user.', 'owner')
      return place.workspaceId
    },
  }
}

/** Where the file of an upload will be. A folder that is deleted meanwhile will be made again. */
async function placeOf(
  db: Db,
  request: UploadRequest,
  { projectId, folderId }: { projectId: string | null; folderId: string | null },
  options?: { lock?: boolean },
): Promise<OpenPlace> {
  try {
    if (folderId !== null) return await openPlace(db, request, { folderId }, options)
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error
  }
  return await openPlace(db, request, { projectId }, options)
}

/** Loads an upload and authorizes. `lock` locks its project and the upload. Throws 410 for an expired one. */
export async function openUpload(
  db: Db,
  access: UploadAccess,
  options: { lock?: boolean } = {},
): Promise<StoredUpload> {
  const { id } = access
  const row = await access.find(db)
  if (row === undefined) throw notFound('upload', id)
  // Lock order: the project before the upload.
  await access.authorize(db, row, options)
  const current = options.lock === true ? await sql.lockUpload(db, { id }) : row
  if (current === undefined) throw notFound('upload', id)
  const { is_expired: isExpired, ...upload } = current
  if (isExpired) throw gone('expired', 'The upload has expired.')
  return upload
}

/** Deletes rows only: without events, and without the partial files. */
export async function deleteUploadRows(tx: Transaction, ids: string[]): Promise<void> {
  await sql.deleteUploads(tx, { ids })
}

/**
 * Deletes a locked upload, with its partial file after the commit, and emits `upload.deleted`. A file created
 * from it stays.
 */
export async function deleteUpload(
  tx: Transaction,
  { storage, events }: Pick<UploadServices, 'storage' | 'events'>,
  upload: StoredUpload,
): Promise<void> {
  await deleteUploadRows(tx, [upload.id])
  await events.emit(tx, 'upload.deleted', upload, { userId: upload.user_id })
  // If this fails, the retention task or the sweep of the store removes the bytes.
  tx.afterCommit(async () => await deleteBytes(storage, upload).catch(() => {}))
}

/**
 * Deletes the bytes of an upload that is deleted. The blob of a file is left to the quarantine. Received
 * parts may be a blob that became no file. Those of an incomplete upload are none: a blob of the key is then
 * that of a file which the database does not know since it was restored, and is left to the quarantine, too.
 */
async function deleteBytes(storage: Storage, upload: StoredUpload): Promise<void> {
  const { multipart, temp_name: tempName, file_id: fileId, offset, length } = upload
  if (multipart === null) return await storage.partialFiles.delete([tempName])
  if (fileId !== null) return
  const store = await storage.blobStore()
  await store.parts?.abort(multipart)
  if (multipart.tail !== null) await store.parts?.deleteTails([multipart.tail])
  if (offset === length - 1) await store.delete([multipart.key])
}

/** Deletes an upload whose client never learned its id, unless the upload is finished or leased. */
export async function deleteUnclaimedUpload(
  db: Db,
  services: Pick<UploadServices, 'storage' | 'events'>,
  id: string,
): Promise<void> {
  await db.transaction(async (tx) => {
    const row = await sql.lockUpload(tx, { id })
    if (row !== undefined && row.file_id === null && row.holder === null)
      await deleteUpload(tx, services, row)
  })
}

/** The upload as whoever has the token of its link sees it. */
export function toLinkUpload(upload: StoredUpload): components['schemas']['LinkUploadProgress'] {
  const { id, file_id, name, length, offset, expires_at } = upload
  return { id, file_id, name, length, offset, expires_at }
}

/** The upload as the API returns it. */
export function toUpload({
  id,
  project_id,
  folder_id,
  file_id,
  name,
  length,
  offset,
  expires_at,
  created_by,
  created_at,
  updated_at,
}: StoredUpload): Upload {
  return {
    id,
    project_id,
    folder_id,
    file_id,
    name,
    length,
    offset,
    expires_at,
    created_by,
    created_at,
    updated_at,
  }
}
