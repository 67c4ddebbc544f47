// Files: access to them, their rows, and lists of them.
import type { components } from '../../generated/types.ts'
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { notFound, invalidField } from '../../infra/errors.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import { accessColumns, requireAccess, type WorkspaceResource } from '../projects/resource-access.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { listPage, type Page, containsPattern, escapeLike } from '../../infra/database/pagination.ts'
import type { Principal } from '../users/authentication.ts'

export type File = components['schemas']['File']

/** The columns of a `File`, from the table `files` with the alias `f`. */
export const fileColumns = `f.id, f.project_id, f.name, f.path, f.content_type, f.declared_content_type,
  f.bytes, f.sha256, '"' || f.sha256 || '"' AS etag, f.visibility::text, f.owner_id, f.metadata, f.tags,
  f.download_count, f.expires_at, f.created_at, f.updated_at`

/** The SQL condition for files that have not expired. */
export const notExpiredSql = `(f.expires_at IS NULL OR f.expires_at > now())`

/** A file and the key of its blob. */
export type StoredFile = File & { blob_key: string }

interface AccessRow extends Omit<StoredFile, 'project_id'>, WorkspaceResource {
  owner_status: string
}

const read = (lock: boolean): string => `
  SELECT ${fileColumns}, f.blob_key, u.status::text AS owner_status, ${accessColumns('f', '$2', { lock })}
  FROM files f JOIN users u ON u.id = f.owner_id WHERE f.id = $1 AND ${notExpiredSql}`
const readFile = statement<AccessRow>(read(false))
const lockFile = statement<AccessRow>(`${read(true)} FOR NO KEY UPDATE OF f`)

interface FileRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal | null
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
): Promise<StoredFile> {
  return authorize(await loadFile(db, request, options), request)
}

/**
 * Like `openFile`, for a download: a public file needs no API key.
 * @returns null when an API key is required.
 */
export async function openDownload(db: Db, request: FileRequest): Promise<StoredFile | null> {
  const row = await loadFile(db, request)
  if (row.visibility === 'public' && (row.project_id !== null || row.owner_status === 'active'))
    return toStoredFile(row)
  return request.principal === null ? null : authorize(row, { ...request, principal: request.principal })
}

async function loadFile(
  db: Db,
  { params: { id }, principal }: FileRequest,
  { lock = false } = {},
): Promise<AccessRow> {
  const [row] = await db.sql(lock ? lockFile : readFile, [id, principal?.userId ?? null])
  if (row === undefined || row.project_status === 'deleted') throw notFound('file', id)
  return row
}

function authorize(row: AccessRow, request: FileRequest & { principal: Principal }): StoredFile {
  requireAccess(row, request, { name: 'file', id: request.params.id })
  return toStoredFile(row)
}

function toStoredFile({
  your_role: _role,
  project_status: _project,
  owner_status: _owner,
  ...file
}: AccessRow): StoredFile {
  return file
}

const readById = statement<File>(`SELECT ${fileColumns} FROM files f WHERE f.id = $1`)

/** Any file, expired or not, without authorization; undefined for a missing file. */
export async function fileById(db: Db, id: string): Promise<File> {
  const [file] = await db.sql(readById, [id])
  return file
}

export interface NewFile {
  projectId: string | null
  ownerId: string
  name: string
  path?: string
  contentType: string
  declaredContentType: string | null
  bytes: number
  sha256: string
  visibility?: 'private' | 'public'
  metadata?: Record<string, string>
  tags?: string[]
  expiresAt?: string | null
}

const insert = statement<File>(`
  WITH f AS (
    INSERT INTO files (id, project_id, owner_id, space_id, name, path, content_type, declared_content_type,
      bytes, sha256, visibility, metadata, tags, expires_at, blob_key, created_at, updated_at)
    VALUES ($1, $2, $3, coalesce($2, $3), $4, $5, $6, $7,
      $8, $9, $10::"FileVisibility", $11, $12, $13, $1, $14, $14)
    RETURNING *
  ) SELECT ${fileColumns} FROM f`)

/** Inserts a file whose blob is stored under the id. Does not check the quota. */
export async function insertFile(db: Db, id: string, file: NewFile): Promise<File> {
  const [row] = await db.sql(insert, [
    id,
    file.projectId,
    file.ownerId,
    file.name,
    file.path ?? '',
    file.contentType,
    file.declaredContentType,
    file.bytes,
    file.sha256,
    file.visibility ?? 'private',
    file.metadata ?? {},
    file.tags ?? [],
    file.expiresAt ?? null,
    timeOf(id),
  ])
  return row
}

export function newFileId(): string {
  return newId('file')
}

/** Throws 400 for an `expires_at` in the past. */
export function requireFutureExpiry(expiresAt: string | null | undefined): void {
  if (expiresAt != null && Date.parse(expiresAt) <= Date.now())
    throw invalidField('expires_at', 'future', 'expires_at must be in the future')
}

export interface FileListQuery {
  page: number
  limit: number
  sort: 'created_at' | 'name' | 'bytes'
  order: 'asc' | 'desc'
  content_type?: string
  visibility?: 'private' | 'public'
  tag?: string
  path?: string
  q?: string
}

// TypeIDs sort by creation time.
const sortKeys = { created_at: 'f.id', name: 'lower(f.name)', bytes: 'f.bytes' }

/** The total of an unfiltered list: the maintained count, minus expired files that are not deleted yet. */
const unfilteredTotal = `SELECT coalesce((SELECT files FROM storage_usage WHERE space_id = $1), 0)
  - (SELECT count(*) FROM files f WHERE f.space_id = $1 AND f.expires_at <= now()) AS total`

/** One page of the files of a workspace, with the total, in one statement. */
export async function listFiles(db: Db, workspaceId: string, query: FileListQuery): Promise<Page<File>> {
  const values: unknown[] = [workspaceId]
  const value = (v: unknown): string => `$${values.push(v)}`
  const filters: string[] = []
  if (query.content_type !== undefined)
    filters.push(`f.content_type COLLATE "C" LIKE ${value(`${escapeLike(query.content_type)}%`)}`)
  if (query.visibility !== undefined)
    filters.push(`f.visibility = ${value(query.visibility)}::"FileVisibility"`)
  if (query.tag !== undefined) filters.push(`f.tags @> ARRAY[${value(query.tag)}]::text[]`)
  if (query.path !== undefined) {
    const folder = query.path.replace(/\/+$/, '')
    const path = 'f.path COLLATE "C"'
    filters.push(`(${path} = ${value(folder)} OR ${path} LIKE ${value(`${escapeLike(folder)}/%`)})`)
  }
  if (query.q !== undefined) filters.push(`lower(f.name) LIKE lower(${value(containsPattern(query.q))})`)
  const isFiltered = filters.length > 0
  return await listPage<File>(
    db,
    {
      from: 'files f',
      columns: fileColumns,
      filters: [`f.space_id = $1 AND ${notExpiredSql}`, ...filters],
      values,
      key: sortKeys[query.sort],
      id: 'f.id',
      ...(!isFiltered && { total: unfilteredTotal }),
      searches: isFiltered,
    },
    query,
  )
}
