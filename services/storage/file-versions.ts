// The versions of a file: its former contents. A version has its blob alone, or with copies of the file from
// that time.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/storage.ts'
import type { Config } from '../../infra/config/config.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { notFound } from '../../infra/errors.ts'
import { newId } from '../../infra/ids.ts'
import type { Emitter } from '../events/emit.ts'
import { toFile, type FileRow, type StoredFile } from './files.ts'

export type FileVersion = components['schemas']['FileVersion']

/** A version and the key of its blob. */
export type VersionRow = FileVersion & { blob_key: string }

/** The versions of a file, whose access was checked. */
export async function listVersions(
  db: Db,
  file: FileRow,
  query: ListQuery<'listFileVersions'>,
): Promise<Page<FileVersion>> {
  return await sql.listVersions(db, { ...query, file_id: file.id })
}

/** `lock` locks the version against its deletion. @throws 404 when the file has no version with this id. */
export async function findVersion(
  db: Db,
  file: FileRow,
  id: string,
  { lock = false } = {},
): Promise<VersionRow> {
  const version = await (lock ? sql.lockVersion : sql.findVersion)(db, { id, file_id: file.id })
  if (version === undefined) throw notFound('version', id)
  return version
}

/** The version without internal fields. */
export function toVersion({ blob_key: _key, ...version }: VersionRow): FileVersion {
  return version
}

/** The file as it was with the content of the version, for a download. */
export function fileOfVersion(file: FileRow, version: VersionRow): FileRow {
  const { blob_key, bytes, sha256, etag, content_type, created_at } = version
  return { ...file, blob_key, bytes, sha256, etag, content_type, content_updated_at: created_at }
}

export interface RestoreVersionServices {
  config: Pick<Config, 'storageVersions'>
  events: Emitter
}

/**
 * Makes a version the content of its locked file again, without copying bytes. The present content becomes a
 * version in its place. A version with the same bytes as the present content stays as it is.
 */
export async function restoreVersion(
  tx: Transaction,
  { config, events }: RestoreVersionServices,
  previous: FileRow,
  { versionId, userId }: { versionId: string; userId: string },
): Promise<StoredFile> {
  const version = await findVersion(tx, previous, versionId, { lock: true })
  if (version.sha256 === previous.sha256) return toFile(previous)
  const file = await sql.restoreVersion(tx, {
    id: previous.id,
    restored_id: version.id,
    version_id: newId('ver'),
    is_kept: config.storageVersions > 0,
    user_id: userId,
  })
  await events.emit(tx, 'file.updated', file, { previous: toFile(previous), userId: file.owner_id })
  return file
}
