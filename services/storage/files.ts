// Files: access to them, their rows, and lists of them.
import type { components } from '../../generated/types.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, SqlClient } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/storage.ts'
import { notFound } from '../../infra/errors.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import { requireAccess } from '../projects/resource-access.ts'
import type { WorkspaceFilter } from '../projects/workspaces.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { type Page, containsPattern, escapeLike } from '../../infra/database/pagination.ts'
import type { Principal } from '../users/authentication.ts'
import { folderOf } from './folders.ts'
import { withSharedRole } from './shares.ts'

export type StoredFile = components['schemas']['StoredFile']

/** A file and the key of its blob. */
export type FileRow = StoredFile & { blob_key: string }

/** A file that the caller may use. `by_share`: only by a share of its folder. */
export type OpenedFile = FileRow & { by_share: boolean }

interface FileRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal | null
  noteProject?(id: string): void
}

/**
 * Loads the file of the request and authorizes the operation, as its `x-project-access` declares: in a
 * project the caller's role and the project's state decide, otherwise only the owner has access. One
 * statement. `lock` locks the file against other writers.
 */
export async function openFile(
  db: Db,
  request: FileRequest & { principal: Principal },
  options: { lock?: boolean } = {},
): Promise<OpenedFile> {
  return await authorize(db, await loadFile(db, request, options), request)
}

/**
 * Like `openFile`, for a download: a public file needs no API key.
 * @returns null when an API key is required.
 */
export async function openDownload(db: Db, request: FileRequest): Promise<OpenedFile | null> {
  const row = await loadFile(db, request)
  if (row.visibility === 'public' && (row.project_id !== null || row.owner_status === 'active')) {
    if (row.project_id !== null && row.your_role !== null) request.noteProject?.(row.project_id)
    return toFileRow(row)
  }
  const { principal } = request
  return principal === null ? null : await authorize(db, row, { ...request, principal })
}

async function loadFile(
  db: Db,
  { params: { id }, principal }: FileRequest,
  { lock = false } = {},
): Promise<sql.ReadFileRow> {
  const row = await (lock ? sql.lockFile : sql.readFile)(db, { id, user_id: principal?.userId ?? null })
  if (row === undefined || row.project_status === 'deleted') throw notFound('file', id)
  return row
}

async function authorize(
  db: Db,
  row: sql.ReadFileRow,
  request: FileRequest & { principal: Principal },
): Promise<OpenedFile> {
  const found = await withSharedRole(db, row, row.folder_id, request)
  requireAccess(found, request, { name: 'file', id: request.params.id })
  return toFileRow(row, found.share !== undefined)
}

function toFileRow(
  { your_role: _role, project_status: _project, owner_status: _owner, ...file }: sql.ReadFileRow,
  byShare = false,
): OpenedFile {
  return { ...file, by_share: byShare }
}

/** The file without internal fields. */
export function toFile({
  blob_key: _key,
  by_share: _share,
  ...file
}: FileRow & { by_share?: boolean }): StoredFile {
  return file
}

/** Any file, visible or not, without authorization; undefined for a missing file. */
export async function findFile(db: Db, id: string): Promise<StoredFile | undefined> {
  return await sql.findFile(db, { id })
}

export interface NewFile {
  projectId: string | null
  ownerId: string
  name: string
  /** Default: the root. */
  folderId?: string | null
  contentType: string
  declaredContentType: string | null
  bytes: number
  sha256: string
  visibility?: 'private' | 'public'
  metadata?: Record<string, string>
  tags?: string[]
  expiresAt?: Date | string | null
  /** Default: the id of the file. */
  blobKey?: string
}

/** Inserts a file whose blob is stored. Does not check the quota. */
export async function insertFile(db: Db, id: string, file: NewFile): Promise<StoredFile> {
  return await sql.insertFile(db, {
    id,
    project_id: file.projectId,
    owner_id: file.ownerId,
    name: file.name,
    folder_id: file.folderId ?? null,
    content_type: file.contentType,
    declared_content_type: file.declaredContentType,
    bytes: file.bytes,
    sha256: file.sha256,
    visibility: file.visibility ?? 'private',
    metadata: file.metadata ?? {},
    tags: file.tags ?? [],
    expires_at: file.expiresAt ?? null,
    blob_key: file.blobKey ?? id,
    created_at: timeOf(id),
  })
}

export function newFileId(): string {
  return newId('file')
}

/** One page of the files of workspaces, with the total, in one statement. */
export async function listFiles(
  db: SqlClient,
  workspaces: WorkspaceFilter,
  { content_type: contentType, path, folder, q, ...query }: ListQuery<'listFiles'>,
): Promise<Page<StoredFile>> {
  // All files are in the root folder or its subfolders.
  const below = folderOf(path ?? '') || undefined
  const exactly = folder === undefined ? undefined : folderOf(folder)
  return await sql.listFiles(db, {
    ...query,
    ...workspaces,
    content_type_pattern: contentType === undefined ? undefined : `${escapeLike(contentType)}%`,
    path: below,
    folder: exactly === '' ? undefined : exactly,
    in_root: exactly === '' ? true : undefined,
    name_pattern: q === undefined ? undefined : containsPattern(q),
  })
}
