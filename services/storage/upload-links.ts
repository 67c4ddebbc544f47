// Upload links: a link with its secret token allows uploads to a workspace until it expires, is used up or is
// revoked. The limits of a link are checked before the bytes of a file arrive, and again when they are there.
import type { components } from '../../generated/types.ts'
import { lockProject } from '../../generated/sql/projects.ts'
import * as sql from '../../generated/sql/storage.ts'
import type { FilePart, FormWithFile, OperationInfo } from '../../infra/contract/operation.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Database, Db, SqlClient, Transaction } from '../../infra/database/database.ts'
import type { Page } from '../../infra/database/pagination.ts'
import {
  ApiError,
  gone,
  inProgress,
  invalidState,
  notFound,
  payloadTooLarge,
  tooManyOpen,
  unsupportedFileType,
} from '../../infra/errors.ts'
import { noteRefusal } from '../events/reached-limits.ts'
import { requireAccess } from '../projects/resource-access.ts'
import type { WorkspaceFilter } from '../projects/workspaces.ts'
import type { Principal } from '../users/authentication.ts'
import { createFileAs, type CreateFileServices, type FileCreator } from './create-file.ts'
import type { StoredFile } from './files.ts'
import { digestOf } from './links.ts'
import { unreservedBytes, type Reservation } from './reservations.ts'
import { receiveFirstBytes } from './uploads/receive.ts'
import {
  deleteUpload,
  insertUpload,
  type NewUpload,
  type StoredUpload,
  type UploadAccess,
  type UploadServices,
} from './uploads/uploads.ts'

export type UploadLink = components['schemas']['UploadLink']

/** A link that was found by its token. */
export type OpenUploadLink = sql.FindUploadLinkRow

export interface NewUploadLink {
  id: string
  token: string
  projectId: string | null
  ownerId: string
  path: string
  title: string | null
  maxBytes: number | null
  contentTypes: string[]
  maxFiles: number | null
  metadata?: Record<string, string>
  createdAt: Date
  expiresAt: Date
}

/** Uploads that a link without a lower limit may have in progress. */
const maxOpen = 20

export async function insertUploadLink(db: Db, link: NewUploadLink): Promise<UploadLink> {
  return await sql.insertUploadLink(db, {
    id: link.id,
    project_id: link.projectId,
    owner_id: link.ownerId,
    digest: digestOf(link.token),
    path: link.path,
    title: link.title,
    max_bytes: link.maxBytes,
    content_types: link.contentTypes,
    max_files: link.maxFiles,
    metadata: link.metadata ?? {},
    expires_at: link.expiresAt,
    created_at: link.createdAt,
  })
}

/**
 * Loads the upload link of the request and authorizes the operation, as `openFile` does. `lock` locks the
 * link against other writers.
 */
export async function openUploadLink(
  db: Db,
  request: {
    operation: OperationInfo
    params: { id: string }
    principal: Principal
    noteProject?(id: string): void
  },
  { lock = false } = {},
): Promise<UploadLink> {
  const { id } = request.params
  const row = await (lock ? sql.lockUploadLink : sql.readUploadLink)(db, {
    id,
    user_id: request.principal.userId,
  })
  requireAccess(row, request, { name: 'upload link', id })
  const { your_role: _role, project_status: _status, owner_id: _owner, ...link } = row
  return link
}

/** Revokes a locked link. @returns the link afterwards. */
export async function revokeUploadLink(db: Db, link: UploadLink): Promise<UploadLink> {
  await sql.revokeUploadLink(db, { id: link.id })
  const { status, updated_at } = (await sql.readUploadLink(db, { id: link.id, user_id: link.created_by }))!
  return { ...link, status, updated_at }
}

/** Deletes the unfinished uploads of a link that has ended, so that they reserve no storage. */
export async function deleteLinkUploads(
  db: Db,
  services: Pick<UploadServices, 'storage' | 'events'>,
  id: string,
): Promise<void> {
  await db.transaction(async (tx) => {
    for (const upload of await sql.lockLinkUploads(tx, { link_id: id }))
      await deleteUpload(tx, services, upload)
  })
}

/** One page of the upload links of workspaces, with the total, in one statement. */
export async function listUploadLinks(
  db: SqlClient,
  workspaces: WorkspaceFilter,
  query: ListQuery<'listUploadLinks'>,
): Promise<Page<UploadLink>> {
  return await sql.listUploadLinks(db, { ...query, ...workspaces })
}

/**
 * The link with the token.
 * @throws 404 for an unknown token, 410 for a link that has ended, 409 while its project takes no files.
 */
export async function findOpenUploadLink(db: Db, token: string): Promise<OpenUploadLink> {
  const link = await sql.findUploadLink(db, { digest: digestOf(token) })
  if (link === undefined) throw notFound('link')
  if (link.status !== 'active') throw gone(link.status, `The link is ${link.status.replace('_', ' ')}.`)
  if (link.project_status !== null && link.project_status !== 'active')
    throw invalidState('project', link.project_status, 'The link takes no files at the moment.')
  return link
}

export type LinkUploadForm = FormWithFile<Omit<components['schemas']['LinkUpload'], 'file'>>

export interface LinkUploadServices extends CreateFileServices {
  database: Database
}

/**
 * Stores the file of a form by a link. Its owner is the creator of the link. Throws what `findOpenUploadLink`
 * throws; 409 if uploads in progress have the other places of the link, 429 for too many at once, 415 and 413
 * for a file that the link does not allow, and 413 without the numbers of the owner if there is no room.
 */
export async function uploadByLink(
  services: LinkUploadServices,
  token: string,
  form: LinkUploadForm,
): Promise<StoredFile> {
  const { db, config } = services
  const link = await findOpenUploadLink(db, token)
  const { file } = form
  // The form has a name and boundaries besides the file.
  const least = file.maxLength === undefined ? 0 : file.maxLength - unreservedBytes
  const maxBytes = requireWithinLimits(link, config, { bytes: least, declaredType: file.declaredType })
  const place = await takePlace(services, link)
  try {
    const upload = {
      file,
      maxBytes,
      tooLarge: fileTooLarge,
      projectId: link.project_id,
      fields: () => ({ name: form.fields().name!, path: link.path, projectId: link.project_id }),
      check: (received: { contentType: string }) => requireType(link, received.contentType),
    }
    return (await createFileAs(services, creatorOf(link, token), upload, async (tx, created) => {
      await countUpload(tx, link, token)
      await sql.endReservation(tx, { id: place.id! })
      tx.afterCommit(() => place.end({ isDeleted: true }))
      return created
    })) as StoredFile
  } catch (error) {
    throw await withoutNumbers(services, error)
  } finally {
    await place.end()
  }
}

/** Counts a file of the link. @throws 410 if another upload was its last one. */
async function countUpload(tx: Transaction, { id }: { id: string }, token: string): Promise<void> {
  if ((await sql.countLinkUpload(tx, { id })) !== undefined) return
  await findOpenUploadLink(tx, token)
  throw notFound('link')
}

/**
 * Checks the size and the declared type of a file before its bytes arrive. @throws 413 or 415
 * @returns the maximum size of a file in bytes.
 */
function requireWithinLimits(
  link: OpenUploadLink,
  { uploadMaxBytes }: Pick<LinkUploadServices['config'], 'uploadMaxBytes'>,
  { bytes, declaredType }: { bytes: number; declaredType: string | null },
): number {
  const maxBytes = Math.min(link.max_bytes ?? Infinity, uploadMaxBytes)
  if (bytes > maxBytes) throw fileTooLarge(maxBytes)
  if (isDeclared(declaredType)) requireType(link, mediaTypeOf(declaredType))
  return maxBytes
}

/** With `lock`, locks the project of a link. To be called before the link is read or locked. */
async function lockProjectOf(db: Db, projectId: string | null, { lock = false } = {}): Promise<void> {
  if (lock && projectId !== null) await lockProject(db, { id: projectId })
}

export interface FirstLinkBytes {
  /** undefined if the request brings no bytes, null for an empty file. */
  body: FilePart | null | undefined
  checksum: string | undefined
}

/**
 * Creates a resumable upload by a link, with the first bytes. The limits of the link are checked before any
 * byte. Throws what `uploadByLink` throws.
 */
export async function createLinkUpload(
  services: LinkUploadServices,
  token: string,
  created: NewUpload,
  { body, checksum }: FirstLinkBytes,
): Promise<StoredUpload> {
  const { db, config } = services
  const link = await findOpenUploadLink(db, token)
  const { declaredType } = created.fields
  requireWithinLimits(link, config, { bytes: created.length, declaredType })
  return await forStranger(services, async () => {
    const upload = await db.transaction(async (tx) => {
      const place = await creatorOf(link, token).openPlace(tx, {}, { lock: true })
      const fields = { ...created.fields, path: link.path }
      const upload = await insertUpload(tx, services, { ...place, linkId: link.id }, { ...created, fields })
      const { open, left } = await sql.lockLinkPlaces(tx, { id: link.id })
      if (open > Math.min(left, maxOpen)) throw noPlace(left)
      return upload
    })
    if (body === undefined) return upload
    const access = accessByLink(token, upload.id)
    return await receiveFirstBytes(db, services, access, upload, { isRepeatable: false, body, checksum })
  })
}

/**
 * The access of whoever has the token of a link, to the uploads of this link. A finished upload stays
 * readable when the link has ended.
 */
export function accessByLink(token: string, id: string): UploadAccess {
  const digest = digestOf(token)
  let link: OpenUploadLink | undefined
  return {
    id,
    find: async (db) => await sql.findLinkUpload(db, { id, digest }),
    async authorize(db, { project_id: projectId, user_id: ownerId, file_id: fileId }, options) {
      await lockProjectOf(db, projectId, options)
      if (fileId === null) link = await findOpenUploadLink(db, token)
      return projectId ?? ownerId
    },
    check: ({ contentType }) => requireType(link!, contentType),
    onFile: async (tx) => await countUpload(tx, link!, token),
  }
}

/** The uploads of a link in progress have its last places, so that no bytes are sent in vain. */
async function takePlace({ storage }: LinkUploadServices, link: OpenUploadLink): Promise<Reservation> {
  const left = (link.max_files ?? Infinity) - link.file_count
  const place = storage.reservations.begin({
    places: [{ workspaceId: link.id, quota: Math.min(left, maxOpen) - link.open_uploads }],
    unreserved: 0,
    error: () => noPlace(left),
  })
  await place.admit(1, { isLength: true })
  return place
}

function noPlace(left: number): ApiError {
  return left <= maxOpen
    ? inProgress('Uploads in progress have all places that the link has left.')
    : tooManyOpen('uploads by a link', maxOpen)
}

/** The creator of the link. The link, and the rights of its creator, are checked in each transaction. */
function creatorOf({ owner_id: ownerId, project_id: projectId }: OpenUploadLink, token: string): FileCreator {
  return {
    accountId: ownerId,
    isRepeatable: false,
    async openPlace(db, _place, options) {
      await lockProjectOf(db, projectId, options)
      const { workspace_id: workspaceId } = await findOpenUploadLink(db, token)
      return { workspaceId, projectId, ownerId, byShare: false }
    },
  }
}

/** Does the work of a request without a key. Throws 413 without numbers if there is no room. */
export async function forStranger<T>(services: LinkUploadServices, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw await withoutNumbers(services, error)
  }
}

/** The owner learns that a limit is reached; a stranger does not see how much the owner has. */
async function withoutNumbers(
  { database, db, events }: LinkUploadServices,
  error: unknown,
): Promise<unknown> {
  const refusal = database.translateError(error)
  if (!(refusal instanceof ApiError) || refusal.details.limit === undefined) return error
  if (refusal.details.constraint === 'max_open') return error
  await noteRefusal({ db, events }, refusal, null)
  return new ApiError(413, 'PAYLOAD_TOO_LARGE', 'There is no room for the file.', { constraint: 'no_room' })
}

function fileTooLarge(limit: number): ApiError {
  return Object.assign(payloadTooLarge(limit), { message: `The file is larger than ${limit} bytes.` })
}

/** Whether the client says more than that it has bytes. */
function isDeclared(type: string | null): type is string {
  return type !== null && mediaTypeOf(type) !== 'application/octet-stream'
}

function mediaTypeOf(type: string): string {
  return type.split(';')[0].trim().toLowerCase()
}

function requireType({ content_types: allowed }: OpenUploadLink, type: string): void {
  const kind = `${type.split('/')[0]}/*`
  if (allowed.length > 0 && !allowed.includes(type) && !allowed.includes(kind))
    throw unsupportedFileType(type, allowed.join(', '), 'file')
}
