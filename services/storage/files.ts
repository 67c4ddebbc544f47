// Files as the API shows them, who may do what with them, and the statements behind them.
import type { components } from '../../generated/types.ts'
import { type Db } from '../../infra/database/database.ts'
import { statement, statementOf } from '../../infra/database/statements.ts'
import { notFound } from '../../infra/errors.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import { accessColumns, requireAccess, type InSpace } from '../projects/resource-access.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { containsPattern, escapeLike, offsetOf, pageOfRows, type Page } from '../../infra/database/pagination.ts'
import type { Principal } from '../users/authentication.ts'

export type File = components['schemas']['File']

const etag = "'\"' || f.sha256 || '\"' AS etag"
export const fileColumns = `f.id, f.project_id, f.name, f.path, f.content_type, f.declared_content_type, f.bytes, f.sha256, ${etag},
  f.visibility::text, f.owner_id, f.metadata, f.tags, f.download_count, f.expires_at, f.created_at, f.updated_at`

/** Files whose time is not over. */
export const living = `(f.expires_at IS NULL OR f.expires_at > now())`

/** A file with where its bytes are. */
export type StoredFile = File & { blob_key: string }

interface Found extends Omit<StoredFile, 'project_id'>, InSpace {
  owner_status: string
}

const read = (
  lock: boolean,
) => `SELECT ${fileColumns}, f.blob_key, u.status::text AS owner_status, ${accessColumns('f', '$2', { lock })}
  FROM files f JOIN users u ON u.id = f.owner_id WHERE f.id = $1 AND ${living}`
const readFile = statement<Found>(read(false))
const lockFile = statement<Found>(`${read(true)} FOR NO KEY UPDATE OF f`)

interface FileRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal | null
}

/**
 * The file of the request, when the caller may do with it what the operation does, as x-project-access says: with a project
 * its role decides and the state, without one the owner may all. One statement; `lock` holds the file against other writers.
 */
export async function openFile(
  db: Db,
  request: FileRequest & { principal: Principal },
  options: { lock?: boolean } = {},
): Promise<StoredFile> {
  return permitted(await findFile(db, request, options), request)
}

/** The same for a download, which a public file gives to anyone. @returns null where a key is needed. */
export async function openDownload(db: Db, request: FileRequest): Promise<StoredFile | null> {
  const found = await findFile(db, request)
  if (found.visibility === 'public' && (found.project_id !== null || found.owner_status === 'active'))
    return stored(found)
  return request.principal === null ? null : permitted(found, { ...request, principal: request.principal })
}

async function findFile(
  db: Db,
  { params: { id }, principal }: FileRequest,
  { lock = false } = {},
): Promise<Found> {
  const [row] = await db.sql(lock ? lockFile : readFile, [id, principal?.userId ?? null])
  if (row === undefined || row.project_status === 'deleted') throw notFound('file', id)
  return row
}

function permitted(found: Found, request: FileRequest & { principal: Principal }): StoredFile {
  requireAccess(found, request, { name: 'file', id: request.params.id })
  return stored(found)
}

function stored({
  your_role: _role,
  project_status: _project,
  owner_status: _owner,
  ...file
}: Found): StoredFile {
  return file
}

const byId = statement<File>(`SELECT ${fileColumns} FROM files f WHERE f.id = $1`)

export async function fileById(db: Db, id: string): Promise<File> {
  const [file] = await db.sql(byId, [id])
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
    INSERT INTO files (id, project_id, owner_id, space_id, name, path, content_type, declared_content_type, bytes, sha256, visibility,
      metadata, tags, expires_at, blob_key, created_at, updated_at)
    VALUES ($1, $2, $3, coalesce($2, $3), $4, $5, $6, $7, $8, $9, $10::"FileVisibility", $11, $12, $13, $1, $14, $14) RETURNING *
  ) SELECT ${fileColumns} FROM f`)

/** A new file whose bytes are in the store already. `usageOf` then tells whether it is within the quota. */
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

export interface Usage {
  files: number
  bytes: number
}

const readUsage = statement<Usage>('SELECT files, bytes FROM storage_usage WHERE space_id = $1')

/** What the files of a project, or those of a user that are in none, take. */
export async function usageOf(db: Db, spaceId: string): Promise<Usage> {
  const [usage] = await db.sql(readUsage, [spaceId])
  return usage ?? { files: 0, bytes: 0 }
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

// TypeIDs sort by creation.
const sortKeys = { created_at: 'f.id', name: 'lower(f.name)', bytes: 'f.bytes' }

/** A page of the files of a space: one statement, total included. */
export async function listFiles(db: Db, spaceId: string, query: FileListQuery): Promise<Page<File>> {
  const values: unknown[] = [spaceId]
  const value = (v: unknown): string => `$${values.push(v)}`
  const filters: string[] = []
  if (query.content_type !== undefined)
    filters.push(`f.content_type COLLATE "C" LIKE ${value(`${escapeLike(query.content_type)}%`)}`)
  if (query.visibility !== undefined)
    filters.push(`f.visibility = ${value(query.visibility)}::"FileVisibility"`)
  if (query.tag !== undefined) filters.push(`f.tags @> ARRAY[${value(query.tag)}]::text[]`)
  if (query.path !== undefined) {
    const folder = query.path.replace(/\/+$/, '')
    filters.push(
      `(f.path COLLATE "C" = ${value(folder)} OR f.path COLLATE "C" LIKE ${value(`${escapeLike(folder)}/%`)})`,
    )
  }
  if (query.q !== undefined) filters.push(`lower(f.name) LIKE lower(${value(containsPattern(query.q))})`)
  const where = [`f.space_id = $1 AND ${living}`, ...filters].join(' AND ')
  // Without filters the rollup knows, but for what has expired and is not removed yet.
  const total =
    filters.length === 0
      ? `SELECT coalesce((SELECT files FROM storage_usage WHERE space_id = $1), 0)
         - (SELECT count(*) FROM files f WHERE f.space_id = $1 AND f.expires_at <= now()) AS total`
      : `SELECT count(*) AS total FROM files f WHERE ${where}`
  const direction = query.order === 'asc' ? 'ASC' : 'DESC'
  const key = sortKeys[query.sort]
  const order = key === 'f.id' ? `f.id ${direction}` : `${key} ${direction}, f.id ${direction}`
  const offset = query.page === 1 ? '' : ` OFFSET ${value(offsetOf(query))}`
  const limit = value(query.limit)
  const text = `SELECT t.total::int, x.* FROM (${total}) t LEFT JOIN LATERAL (
    SELECT * FROM (SELECT ${fileColumns} FROM files f WHERE ${where} ORDER BY ${order} LIMIT 100${offset}) page LIMIT ${limit}) x ON true`
  return pageOfRows(
    await db.sql(statementOf<File & { total: number }>(text, { searches: filters.length > 0 }), values),
    query,
  )
}
