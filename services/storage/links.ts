// File links: a link with its secret token allows downloads until it expires, is used up or is revoked.
import { hash } from 'node:crypto'
import type { components } from '../../generated/types.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, SqlClient } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/storage.ts'
import { gone, notFound } from '../../infra/errors.ts'
import type { Page } from '../../infra/database/pagination.ts'
import type { WorkspaceFilter } from '../projects/workspaces.ts'
import type { FileRow } from './files.ts'

export type FileLink = components['schemas']['FileLink']

export interface NewLink {
  id: string
  token: string
  maxDownloads: number | null
  createdBy: string
  metadata?: Record<string, string>
  createdAt: Date
  expiresAt: Date
}

export async function insertLink(
  db: Db,
  file: { id: string },
  { id, token, maxDownloads, createdBy, metadata = {}, expiresAt, createdAt }: NewLink,
): Promise<FileLink> {
  return await sql.insertLink(db, {
    id,
    file_id: file.id,
    digest: digestOf(token),
    max_downloads: maxDownloads,
    created_by: createdBy,
    metadata,
    expires_at: expiresAt,
    created_at: createdAt,
  })
}

/** Throws 404 when the file has no link with this id. */
export async function findLink(db: Db, file: FileRow, id: string): Promise<FileLink> {
  const link = await sql.findLink(db, { file_id: file.id, id })
  if (link === undefined) throw notFound('link', id)
  return link
}

export async function revokeLink(db: Db, file: FileRow, id: string): Promise<FileLink> {
  await sql.revokeLink(db, { id })
  return await findLink(db, file, id)
}

export async function listLinks(
  db: Db,
  file: FileRow,
  query: ListQuery<'listFileLinks'>,
): Promise<Page<FileLink>> {
  return await sql.listLinks(db, { ...query, file_id: file.id })
}

/** One page of the links of the files of workspaces, with the total, in one statement. */
export async function listAllLinks(
  db: SqlClient,
  workspaces: WorkspaceFilter,
  query: ListQuery<'listAllFileLinks'>,
): Promise<Page<FileLink>> {
  return await sql.listAllLinks(db, { ...query, ...workspaces })
}

/** @returns null for an unknown token, and for a file that is deleted or expired. */
export async function findByToken(
  db: Db,
  token: string,
): Promise<{ link: { id: string; status: string }; file: FileRow } | null> {
  const row = await sql.findLinkedFile(db, { digest: digestOf(token) })
  if (row === undefined) return null
  const { link_id: id, link_status: status, ...file } = row
  return { link: { id, status }, file }
}

/**
 * Counts a download of an active link.
 * @returns `active` when the download was counted, otherwise the status of the link; null for a deleted link.
 */
export async function countLinkDownload(db: Db, id: string): Promise<string | null> {
  if ((await sql.countLinkDownload(db, { id })) !== undefined) return 'active'
  return (await sql.readLinkStatus(db, { id }))?.status ?? null
}

/** The 410 for a link that is not active. */
export function linkGone(status: string): Error {
  return gone(status, `The link is ${status.replace('_', ' ')}.`)
}

/** Only the SHA-256 of a token is stored. */
export function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}
