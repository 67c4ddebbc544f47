// Resumable uploads: their rows, access to them, and their deletion. An upload is created with the metadata
// of the file that it becomes.
import type { components } from '../../../generated/types.ts'
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { conflict, forbidden, gone, notFound, quotaExceeded } from '../../../infra/errors.ts'
import type { Emitter } from '../../events/emit.ts'
import type { Config } from '../../../infra/config/config.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import { openWorkspace } from '../../projects/workspaces.ts'
import type { Principal } from '../../users/authentication.ts'
import { quotaFor, usageOf } from '../quota.ts'
import type { Storage } from '../storage.ts'
import type { UploadFields } from './metadata.ts'

export type Upload = components['schemas']['Upload']

interface Row extends Upload {
  /** How many bytes are durable. `offset` is the number that the client sees. */
  received: number
  /** The name of the partial file. */
  temp_name: string
  /** The id of the lease holder. */
  holder: string | null
  user_id: string
  path: string
  declared_content_type: string | null
  visibility: 'private' | 'public'
  metadata: Record<string, string>
  tags: string[]
  file_expires_at: string | null
  sha256: string | null
  /** The Upload-Metadata header, unchanged. */
  raw_metadata: string
}

/** An upload with its internal columns. */
export type StoredUpload = Readonly<Row>

// A client takes an upload whose offset is its length for a finished file. Until the file exists, the offset
// therefore stays one byte short of the length, and the client sends the last byte again.
const offset = `CASE WHEN u.file_id IS NULL THEN greatest(0, least(u.received, u.length - 1))
  ELSE u.length END AS offset`
/** The columns of a `StoredUpload`, from the table `uploads` with the alias `u`. */
export const uploadColumns = `u.id, u.project_id, u.file_id, u.name, u.length, ${offset}, u.received,
  coalesce(u.temp_name, u.id) AS temp_name, u.holder, u.expires_at, u.created_at, u.user_id, u.path,
  u.declared_content_type, u.visibility::text, u.metadata, u.tags, u.file_expires_at, u.sha256,
  u.raw_metadata`

export interface UploadServices {
  config: Readonly<Config>
  storage: Storage
  events: Emitter
}

export interface UploadRequest {
  operation: OperationInfo
  principal: Principal
}

const lockWorkspaceUploads = statement("SELECT pg_advisory_xact_lock(hashtextextended('uploads ' || $1, 0))")
/** The limit per workspace. Even an empty upload occupies a row and a file. */
const maxUnfinished = 1_000
const readUnfinished = statement<{ n: number; bytes: number }>(`
  SELECT count(*)::int AS n, coalesce(sum(length), 0)::bigint AS bytes FROM uploads
  WHERE space_id = $1 AND file_id IS NULL AND expires_at > now()`)
const insert = statement<Row>(`
  WITH u AS (
    INSERT INTO uploads (id, project_id, user_id, space_id, name, path, declared_content_type, visibility,
      metadata, tags, file_expires_at, sha256, raw_metadata, length, created_at, expires_at)
    VALUES ($1, $2, $3, coalesce($2, $3), $4, $5, $6, $7::"FileVisibility",
      $8, $9, $10, $11, $12, $13, $14, $15)
    RETURNING *
  ) SELECT ${uploadColumns} FROM u`)

export interface NewUpload {
  fields: UploadFields
  /** The Upload-Metadata header from which the fields were parsed. */
  rawMetadata: string
  length: number
}

/**
 * Inserts an upload and emits `upload.created`. Unfinished uploads count towards the quota with their full
 * length. Throws 413 when the quota would be exceeded, and 409 when the workspace has too many unfinished
 * uploads.
 */
export async function insertUpload(
  tx: Db,
  { config, events }: Pick<UploadServices, 'config' | 'events'>,
  request: UploadRequest,
  { fields, rawMetadata, length }: NewUpload,
): Promise<StoredUpload> {
  const {
    project_id: projectId = null,
    name,
    path = '',
    declaredType,
    visibility = 'private',
    metadata = {},
    tags = [],
    expires_at: expiresAt = null,
    sha256 = null,
  } = fields
  const { userId } = request.principal
  const workspaceId = await openWorkspace(tx, request, projectId, { lock: true })
  await tx.sql(lockWorkspaceUploads, [workspaceId])
  const quota = quotaFor(config, projectId)
  const [{ n, bytes }] = await tx.sql(readUnfinished, [workspaceId])
  if (n >= maxUnfinished)
    throw conflict('unfinished', `There are already ${n} unfinished uploads; finish or delete one first.`)
  if ((await usageOf(tx, workspaceId)).bytes + bytes + length > quota) throw quotaExceeded(quota)
  const id = newId('upl')
  const createdAt = timeOf(id)
  const [upload] = await tx.sql(insert, [
    id,
    projectId,
    userId,
    name,
    path,
    declaredType,
    visibility,
    metadata,
    tags,
    expiresAt,
    sha256,
    rawMetadata,
    length,
    createdAt,
    new Date(createdAt.getTime() + config.resumableUploadHours * 3_600_000),
  ])
  await events.emit(tx, 'upload.created', upload, { userId })
  return upload
}

const read = statement<Row & { is_expired: boolean }>(
  `SELECT ${uploadColumns}, u.expires_at <= now() AS is_expired FROM uploads u WHERE u.id = $1`,
)
/** Locks the row until the transaction ends. */
export const lockUpload = statement<Row & { is_expired: boolean }>(
  `SELECT ${uploadColumns}, u.expires_at <= now() AS is_expired FROM uploads u WHERE u.id = $1 FOR UPDATE`,
)

/**
 * Loads the upload of the request and authorizes the operation: in a project the caller's role and the
 * project's state decide, both as they are now; otherwise only the user who created the upload has access.
 * Throws 410 for an expired upload.
 */
export async function openUpload(
  db: Db,
  request: UploadRequest & { params: { id: string } },
  options: { lock?: boolean } = {},
): Promise<StoredUpload> {
  const {
    params: { id },
    principal,
  } = request
  const [row] = await db.sql(read, [id])
  if (row === undefined) throw notFound('upload', id)
  // Lock order: the project before the upload.
  await openWorkspace(db, request, row.project_id, options)
  if (row.project_id === null && row.user_id !== principal.userId)
    throw forbidden('This upload belongs to another user.', 'owner')
  const [current] = options.lock === true ? await db.sql(lockUpload, [id]) : [row]
  if (current === undefined) throw notFound('upload', id)
  const { is_expired: isExpired, ...upload } = current
  if (isExpired) throw gone('expired', 'The upload has expired.')
  return upload
}

const deleteRows = statement('DELETE FROM uploads WHERE id = ANY($1)')

/** Deletes rows only: without events, and without the partial files. */
export async function deleteUploadRows(tx: Db, ids: string[]): Promise<void> {
  await tx.sql(deleteRows, [ids])
}

/**
 * Deletes a locked upload, with its partial file after the commit, and emits `upload.deleted`. A file created
 * from it stays.
 */
export async function deleteUpload(
  tx: Db,
  { storage, events }: Pick<UploadServices, 'storage' | 'events'>,
  upload: StoredUpload,
): Promise<void> {
  await deleteUploadRows(tx, [upload.id])
  await events.emit(tx, 'upload.deleted', upload, { userId: upload.user_id })
  tx.afterCommit(async () => await storage.partialFiles.delete([upload.temp_name]).catch(() => {}))
}

/** Deletes an upload whose client never learned its id, unless the upload is finished or leased. */
export async function deleteUnclaimedUpload(
  db: Db,
  services: Pick<UploadServices, 'storage' | 'events'>,
  id: string,
): Promise<void> {
  await db.transaction(async (tx) => {
    const [row] = await tx.sql(lockUpload, [id])
    if (row !== undefined && row.file_id === null && row.holder === null)
      await deleteUpload(tx, services, row)
  })
}

/** The upload as the API returns it. */
export function toUpload({
  id,
  project_id,
  file_id,
  name,
  length,
  offset,
  expires_at,
  created_at,
}: StoredUpload): Upload {
  return { id, project_id, file_id, name, length, offset, expires_at, created_at }
}
