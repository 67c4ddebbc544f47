// File links: a link with its secret token allows downloads until it expires, is used up or is revoked.
// Downloads are counted by one conditional UPDATE, so that `max_downloads` holds under concurrency.
import { hash } from 'node:crypto'
import type { components } from '../../generated/types.ts'
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { notFound } from '../../infra/errors.ts'
import { listPage, type Page } from '../../infra/database/pagination.ts'
import { fileColumns, notExpiredSql, type StoredFile } from './files.ts'

export type FileLink = components['schemas']['FileLink']

const status = `CASE WHEN l.revoked_at IS NOT NULL THEN 'revoked'
  WHEN l.download_count >= l.max_downloads THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END`
const columns = `l.id, l.file_id, f.project_id, ${status} AS status, l.max_downloads, l.download_count,
  l.created_by, l.expires_at, l.created_at`
const linksWithFiles = 'file_links l JOIN files f ON f.id = l.file_id'

export interface NewLink {
  id: string
  token: string
  maxDownloads: number | null
  createdBy: string
  createdAt: Date
  expiresAt: Date
}

const insert = statement<FileLink>(`
  WITH l AS (
    INSERT INTO file_links (id, file_id, digest, max_downloads, created_by, expires_at, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING *
  ) SELECT ${columns} FROM l JOIN files f ON f.id = l.file_id`)

export async function insertLink(
  db: Db,
  file: { id: string },
  { id, token, maxDownloads, createdBy, expiresAt, createdAt }: NewLink,
): Promise<FileLink> {
  const [link] = await db.sql(insert, [
    id,
    file.id,
    digestOf(token),
    maxDownloads,
    createdBy,
    expiresAt,
    createdAt,
  ])
  return link
}

const read = statement<FileLink>(
  `SELECT ${columns} FROM ${linksWithFiles} WHERE l.file_id = $1 AND l.id = $2`,
)

/** Throws 404 when the file has no link with this id. */
export async function findLink(db: Db, file: StoredFile, id: string): Promise<FileLink> {
  const [link] = await db.sql(read, [file.id, id])
  if (link === undefined) throw notFound('link', id)
  return link
}

const revoke = statement('UPDATE file_links SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1')

export async function revokeLink(db: Db, file: StoredFile, id: string): Promise<FileLink> {
  await db.sql(revoke, [id])
  return await findLink(db, file, id)
}

export interface LinkListQuery {
  page: number
  limit: number
  sort: 'created_at' | 'expires_at'
  order: 'asc' | 'desc'
}

const sortKeys = { created_at: 'l.created_at', expires_at: 'l.expires_at' }

export async function listLinks(db: Db, file: StoredFile, query: LinkListQuery): Promise<Page<FileLink>> {
  return await listPage<FileLink>(
    db,
    {
      from: linksWithFiles,
      columns,
      filters: ['l.file_id = $1'],
      values: [file.id],
      key: sortKeys[query.sort],
      id: 'l.id',
      total: 'SELECT count(*) AS total FROM file_links WHERE file_id = $1',
    },
    query,
  )
}

type LinkedFileRow = StoredFile & { link_id: string; link_status: string }

const readByDigest = statement<LinkedFileRow>(`
  SELECT l.id AS link_id, ${status} AS link_status, ${fileColumns}, f.blob_key
  FROM ${linksWithFiles} JOIN users u ON u.id = f.owner_id LEFT JOIN projects p ON p.id = f.project_id
  WHERE l.digest = $1 AND ${notExpiredSql}
    AND CASE WHEN f.project_id IS NULL THEN u.status = 'active' ELSE p.status <> 'deleted' END`)

/** @returns null for an unknown token, and for a file that is deleted or expired. */
export async function findByToken(
  db: Db,
  token: string,
): Promise<{ link: { id: string; status: string }; file: StoredFile } | null> {
  const [row] = await db.sql(readByDigest, [digestOf(token)])
  if (row === undefined) return null
  const { link_id: id, link_status: status, ...file } = row
  return { link: { id, status }, file }
}

const countDownload = statement(`
  UPDATE file_links l SET download_count = download_count + 1
  WHERE l.id = $1 AND ${status} = 'active' RETURNING l.id`)
const readStatus = statement<{ status: string }>(
  `SELECT ${status} AS status FROM file_links l WHERE l.id = $1`,
)

/**
 * Counts a download of an active link.
 * @returns `active` when the download was counted, otherwise the status of the link; null for a deleted link.
 */
export async function countLinkDownload(db: Db, id: string): Promise<string | null> {
  if ((await db.sql(countDownload, [id])).length > 0) return 'active'
  const [row] = await db.sql(readStatus, [id])
  return row?.status ?? null
}

/** Only the SHA-256 of a token is stored. */
function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}
