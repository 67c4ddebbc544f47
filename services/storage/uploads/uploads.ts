// Resumable uploads: begun with what the file will be, appended to, and made a file, once, by whoever sends the last byte.
import type { components } from '../../../generated/types.ts'
import { type Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { conflict, forbidden, gone, notFound, quotaExceeded, RolledBack } from '../../../infra/errors.ts'
import type { Emitter } from '../../events/emit.ts'
import type { Config } from '../../../infra/config/config.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import type { Principal } from '../../users/authentication.ts'
import { checksumMismatch } from './checksum.ts'
import { newFileId, usageOf } from '../files.ts'
import { lost, type Hold } from './lease.ts'
import { addFile, openSpace, quotaOf } from '../quota.ts'
import type { Staging } from '../blobs/partial-files.ts'
import type { Storage } from '../storage.ts'
import type { UploadFields } from './metadata.ts'

export type Upload = components['schemas']['Upload']

interface Row extends Upload {
  /** How many bytes are kept; `offset` is what is told of it. */
  received: number
  /** The name of its bytes on the disk. */
  staged_as: string
  holder: string | null
  user_id: string
  path: string
  declared_content_type: string | null
  visibility: 'private' | 'public'
  metadata: Record<string, string>
  tags: string[]
  file_expires_at: string | null
  sha256: string | null
  /** Upload-Metadata as it was given. */
  given: string
}

/** An upload with what the file will be. */
export type OpenUpload = Readonly<Row>

// To a client that knows the last byte to be kept the file is there: until it is, that byte is asked for again.
const offset =
  'CASE WHEN u.file_id IS NULL THEN greatest(0, least(u.received, u.length - 1)) ELSE u.length END AS offset'
const columns = `u.id, u.project_id, u.file_id, u.name, u.length, ${offset}, u.received, coalesce(u.staged_as, u.id) AS staged_as, u.holder, u.expires_at,
  u.created_at, u.user_id, u.path, u.declared_content_type, u.visibility::text, u.metadata, u.tags, u.file_expires_at, u.sha256, u.given`

export interface UploadServices {
  config: Readonly<Config>
  storage: Storage
  events: Emitter
}

export interface UploadRequest {
  operation: OperationInfo
  principal: Principal
}

const takeTurn = statement("SELECT pg_advisory_xact_lock(hashtextextended('uploads ' || $1, 0))")
/** How many of a space may be unfinished. Each takes something, however little it will be. */
const mostUnfinished = 1_000
const pending = statement<{ n: number; bytes: number }>(`
  SELECT count(*)::int AS n, coalesce(sum(length), 0)::bigint AS bytes FROM uploads WHERE space_id = $1 AND file_id IS NULL AND expires_at > now()`)
const insert = statement<Row>(`
  WITH u AS (
    INSERT INTO uploads (id, project_id, user_id, space_id, name, path, declared_content_type, visibility, metadata, tags, file_expires_at,
      sha256, given, length, created_at, expires_at)
    VALUES ($1, $2, $3, coalesce($2, $3), $4, $5, $6, $7::"FileVisibility", $8, $9, $10, $11, $12, $13, $14, $15) RETURNING *
  ) SELECT ${columns} FROM u`)

/** Room for it is taken at once: nobody begins more than the quota has, nor too many. */
export async function insertUpload(
  tx: Db,
  config: Readonly<Config>,
  request: UploadRequest,
  fields: UploadFields,
  { given, length }: { given: string; length: number },
): Promise<OpenUpload> {
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
  const spaceId = await openSpace(tx, request, projectId, { lock: true })
  await tx.sql(takeTurn, [spaceId])
  const quota = quotaOf(config, projectId)
  const [{ n, bytes }] = await tx.sql(pending, [spaceId])
  if (n >= mostUnfinished)
    throw conflict('unfinished', `There are ${n} unfinished uploads: finish one first, or give it up.`)
  if ((await usageOf(tx, spaceId)).bytes + bytes + length > quota) throw quotaExceeded(quota)
  const id = newId('upl')
  const createdAt = timeOf(id)
  const [upload] = await tx.sql(insert, [
    id,
    projectId,
    request.principal.userId,
    name,
    path,
    declaredType,
    visibility,
    metadata,
    tags,
    expiresAt,
    sha256,
    given,
    length,
    createdAt,
    new Date(createdAt.getTime() + config.resumableUploadHours * 3_600_000),
  ])
  return upload
}

const read = statement<Row & { over: boolean }>(
  `SELECT ${columns}, u.expires_at <= now() AS over FROM uploads u WHERE u.id = $1`,
)
const lock = statement<Row & { over: boolean }>(
  `SELECT ${columns}, u.expires_at <= now() AS over FROM uploads u WHERE u.id = $1 FOR UPDATE`,
)

/**
 * The upload of the request, when the caller may do with it what the operation does: without a project whoever began it, with
 * one by the role in it and its state, which may have changed since. Throws 410 when its time is over.
 */
export async function openUpload(
  db: Db,
  request: UploadRequest & { params: { id: string } },
  options: { lock?: boolean } = {},
): Promise<OpenUpload> {
  const {
    params: { id },
    principal,
  } = request
  const [row] = await db.sql(read, [id])
  if (row === undefined) throw notFound('upload', id)
  // Projects before what is in them: only then the row.
  await openSpace(db, request, row.project_id, options)
  if (row.project_id === null && row.user_id !== principal.userId)
    throw forbidden("This upload is somebody else's.", 'owner')
  const [locked] = options.lock === true ? await db.sql(lock, [id]) : [row]
  if (locked === undefined) throw notFound('upload', id)
  const { over, ...upload } = locked
  if (over) throw gone('expired', 'The time of this upload is over.')
  return upload
}

/** Made a file by another request meanwhile. */
class Finished extends RolledBack {
  fileId: string

  constructor(fileId: string) {
    super('finished before')
    this.fileId = fileId
  }
}

/** The row as it is now, and stays until the end of the transaction. Throws unless the upload is unfinished and still held. */
async function lockHeld(tx: Db, id: string, hold: Hold): Promise<OpenUpload> {
  const [row] = await tx.sql(lock, [id])
  if (row === undefined) throw notFound('upload', id)
  if (row.file_id !== null) throw new Finished(row.file_id)
  // Whoever took it over may change the bytes.
  if (row.holder !== hold.id) throw lost()
  return row
}

/**
 * To be called before anything is done with the bytes: goes on in a file of its own where the holder before may still be
 * writing, because it did not let go. Its file is nobody's then.
 */
export async function takeOver(staging: Staging, upload: OpenUpload, hold: Hold): Promise<void> {
  if (!hold.lapsed || upload.file_id !== null) return
  const before = hold.stagedAs
  await hold.moveTo(await staging.copy(before, upload.received))
  // What stays here goes with the upload.
  await staging.remove([before]).catch(() => {})
}

const finish = statement('UPDATE uploads SET file_id = $2 WHERE id = $1')
const remove = statement('DELETE FROM uploads WHERE id = ANY($1)')

/**
 * Makes the file of an upload that is whole, or says which one it is. To be called by who holds the upload. Throws 460, and
 * the upload is gone, when it is not what its `sha256` says; what else is refused may be tried again.
 * @returns the id of the file.
 */
export async function finishUpload(
  db: Db,
  { config, storage, events }: UploadServices,
  request: UploadRequest,
  upload: OpenUpload,
  hold: Hold,
): Promise<string> {
  if (upload.file_id !== null) return upload.file_id
  const { staging } = storage
  const whole = await staging.whole(hold.stagedAs, {
    length: upload.length,
    declared: upload.declared_content_type,
    filename: upload.name,
  })
  try {
    if (upload.sha256 !== null && upload.sha256 !== whole.sha256) {
      await db.transaction(
        async (tx) => await discardUpload(tx, { storage, events }, await lockHeld(tx, upload.id, hold)),
      )
      throw checksumMismatch(
        'sha256',
        'sha256',
        `What arrived has the SHA-256 ${whole.sha256}; the upload is gone.`,
      )
    }
    const id = newFileId()
    await storage.keep(id, whole, () =>
      db.transaction(async (tx) => {
        // It may have taken long: who may, and whether there is room, is asked again.
        const { project_id: projectId, user_id: ownerId, name, path, visibility, metadata, tags } = upload
        await openSpace(tx, request, projectId, { lock: true })
        await lockHeld(tx, upload.id, hold)
        const { bytes, contentType, sha256 } = whole
        await addFile(tx, { config, events }, id, {
          projectId,
          ownerId,
          name,
          path,
          visibility,
          metadata,
          tags,
          contentType,
          declaredContentType: upload.declared_content_type,
          bytes,
          sha256,
          expiresAt: upload.file_expires_at,
        })
        await tx.sql(finish, [upload.id, id])
      }),
    )
    // What a crash leaves here is tidied.
    await staging.remove([hold.stagedAs]).catch(() => {})
    return id
  } catch (error) {
    if (error instanceof Finished) return error.fileId
    throw error
  } finally {
    await whole.discard()
  }
}

/** Removes it with its bytes; what it has become stays. */
export async function discardUpload(
  tx: Db,
  { storage, events }: Pick<UploadServices, 'storage' | 'events'>,
  upload: OpenUpload,
): Promise<void> {
  await tx.sql(remove, [[upload.id]])
  await events.emit(tx, 'upload.deleted', upload, { userId: upload.user_id })
  tx.afterCommit(async () => await storage.staging.remove([upload.staged_as]).catch(() => {}))
}

/** Ends an upload that was begun by a request whose sender will not know of it, unless somebody does something with it. */
export async function forgetUpload(
  db: Db,
  services: Pick<UploadServices, 'storage' | 'events'>,
  id: string,
): Promise<void> {
  await db.transaction(async (tx) => {
    const [row] = await tx.sql(lock, [id])
    if (row !== undefined && row.file_id === null && row.holder === null)
      await discardUpload(tx, services, row)
  })
}

const most = 100
const expired = statement<Row>(`
  SELECT ${columns} FROM uploads u WHERE u.expires_at <= now() AND coalesce(u.held_until < now(), true)
  ORDER BY u.expires_at LIMIT $1 FOR UPDATE SKIP LOCKED`)
const unneeded = statement<{ name: string }>(`
  SELECT k.name FROM unnest($1::text[]) AS k (name)
  WHERE NOT EXISTS (SELECT 1 FROM uploads u WHERE u.id = split_part(k.name, '.', 1) AND u.file_id IS NULL)`)

/** A step of housekeeping: uploads whose time is over, and bytes that no unfinished upload has. */
export async function tidyUploads(
  db: Db,
  services: Pick<UploadServices, 'storage' | 'events'>,
): Promise<{ removed: number; more: boolean }> {
  const removed = await db.transaction(async (tx) => {
    const uploads = await tx.sql(expired, [most])
    const finished = uploads.filter(({ file_id: fileId }) => fileId !== null)
    // It was a file before: nothing ends with it.
    await tx.sql(remove, [finished.map(({ id }) => id)])
    for (const upload of uploads) if (upload.file_id === null) await discardUpload(tx, services, upload)
    return uploads.length
  })
  if (removed === most) return { removed, more: true }
  let swept = 0
  for await (const names of services.storage.staging.list()) {
    const orphans = (await db.sql(unneeded, [names])).map(({ name }) => name)
    await services.storage.staging.remove(orphans)
    swept += orphans.length
  }
  return { removed: removed + swept, more: false }
}
