// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, none, one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Leases an upload to a holder, unless another one holds it. A previous holder that is still in the row has
 * not released its lease.
 * @see prisma/sql/storage/acquire-lease.sql
 */
export const acquireLease = optional<{ holder: string; lease_seconds: number; id: string }, AcquireLeaseRow>(
  'storage/acquire-lease',
  `UPDATE uploads u
SET holder = $1, held_until = now() + make_interval(secs => $2), lease_requested_at = NULL
FROM (SELECT id, holder FROM uploads WHERE id = $3 FOR UPDATE) before
WHERE u.id = before.id AND (u.held_until IS NULL OR u.held_until < now())
RETURNING coalesce(u.temp_name, u.id) AS temp_name, before.holder IS NOT NULL AS was_expired`,
  ['holder', 'lease_seconds', 'id'],
)
export interface AcquireLeaseRow {
  temp_name: string
  was_expired: boolean
}

/**
 * Adds to the download counts of files.
 * @see prisma/sql/storage/add-downloads.sql
 */
export const addDownloads = none<{ ids: readonly string[]; counts: readonly number[] }>(
  'storage/add-downloads',
  `UPDATE files f SET download_count = f.download_count + c.n
FROM unnest($1::text[], $2::int[]) AS c (id, n)
WHERE f.id = c.id`,
  ['ids', 'counts'],
)

/**
 * Counts a download of a link if the link is active. One conditional UPDATE, so that `max_downloads` holds
 * under concurrency.
 * @see prisma/sql/storage/count-link-download.sql
 */
export const countLinkDownload = optional<{ id: string }, CountLinkDownloadRow>(
  'storage/count-link-download',
  `UPDATE file_links l SET download_count = download_count + 1
WHERE l.id = $1 AND CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM files g LEFT JOIN members c ON c.project_id = g.project_id AND c.user_id = l.created_by
    WHERE g.id = l.file_id
      AND (g.project_id IS NULL OR (c.role <= 'editor' AND c.created_at <= l.created_at))
  ) THEN 'revoked'
  WHEN l.download_count >= l.max_downloads THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END = 'active'
RETURNING l.id`,
  ['id'],
)
export interface CountLinkDownloadRow {
  id: string
}

/**
 * Deletes a batch of the reservations that their servers have not renewed for an hour.
 * @see prisma/sql/storage/delete-abandoned-reservations.sql
 */
export const deleteAbandonedReservations = one<{ limit: number }, DeleteAbandonedReservationsRow>(
  'storage/delete-abandoned-reservations',
  `WITH deleted AS (
  DELETE FROM storage_reservations WHERE id = ANY(ARRAY(
    SELECT id FROM storage_reservations WHERE held_until < now() - interval '1 hour' LIMIT $1
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteAbandonedReservationsRow {
  n: number
}

/**
 * Deletes the avatar of a user. A trigger queues its blobs for deletion.
 * @see prisma/sql/storage/delete-avatar-of-user.sql
 */
export const deleteAvatarOfUser = none<{ user_id: string }>(
  'storage/delete-avatar-of-user',
  `DELETE FROM avatars WHERE user_id = $1`,
  ['user_id'],
)

/**
 * Deletes a file. A trigger queues its blob for deletion.
 * @see prisma/sql/storage/delete-file.sql
 */
export const deleteFile = none<{ id: string }>(
  'storage/delete-file',
  `DELETE FROM files WHERE id = $1`,
  ['id'],
)

/**
 * Deletes files in the workspace of a deleted user, which no one can read. Files with documents follow once
 * those are deleted.
 * @see prisma/sql/storage/delete-files-of-deleted-users.sql
 */
export const deleteFilesOfDeletedUsers = one<{ limit: number }, DeleteFilesOfDeletedUsersRow>(
  'storage/delete-files-of-deleted-users',
  `WITH deleted AS (
  DELETE FROM files WHERE id = ANY(ARRAY(
    SELECT f.id FROM users u JOIN files f ON f.space_id = u.id
    WHERE u.status = 'deleted' AND NOT EXISTS (SELECT FROM documents d WHERE d.file_id = f.id)
    LIMIT $1))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteFilesOfDeletedUsersRow {
  n: number
}

/**
 * Deletes uploads: without events, and without the partial files.
 * @see prisma/sql/storage/delete-uploads.sql
 */
export const deleteUploads = none<{ ids: readonly string[] }>(
  'storage/delete-uploads',
  `DELETE FROM uploads WHERE id = ANY($1)`,
  ['ids'],
)

/**
 * Removes deleted blobs from the queue of blobs to delete.
 * @see prisma/sql/storage/dequeue-blobs.sql
 */
export const dequeueBlobs = none<{ keys: readonly string[] }>(
  'storage/dequeue-blobs',
  `DELETE FROM deleted_blobs WHERE key = ANY($1)`,
  ['keys'],
)

/**
 * Ends a reservation when its file is inserted: `lock-storage`, without the reservation or upload `id`.
 * @see prisma/sql/storage/end-reservation-and-lock-storage.sql
 */
export const endReservationAndLockStorage = one<{ id: string | null; space_id: string }, EndReservationAndLockStorageRow>(
  'storage/end-reservation-and-lock-storage',
  `WITH ended AS (DELETE FROM storage_reservations WHERE id = $1)
SELECT taken AS "taken", used AS "used" FROM lock_storage($2, $1)`,
  ['id', 'space_id'],
)
export interface EndReservationAndLockStorageRow {
  taken: number
  used: number
}

/**
 * Ends a reservation.
 * @see prisma/sql/storage/end-reservation.sql
 */
export const endReservation = none<{ id: string }>(
  'storage/end-reservation',
  `DELETE FROM storage_reservations WHERE id = $1`,
  ['id'],
)

/**
 * The avatar of a user.
 * @see prisma/sql/storage/find-avatar-of-user.sql
 */
export const findAvatarOfUser = optional<{ user_id: string }, FindAvatarOfUserRow>(
  'storage/find-avatar-of-user',
  `SELECT id, variants, updated_at FROM avatars WHERE user_id = $1`,
  ['user_id'],
)
export interface FindAvatarOfUserRow {
  id: string
  variants: Omit<Schemas['AvatarVariant'], 'url'>[]
  updated_at: string
}

/**
 * An avatar by its id.
 * @see prisma/sql/storage/find-avatar.sql
 */
export const findAvatar = optional<{ id: string }, FindAvatarRow>(
  'storage/find-avatar',
  `SELECT id, variants, updated_at FROM avatars WHERE id = $1`,
  ['id'],
)
export interface FindAvatarRow {
  id: string
  variants: Omit<Schemas['AvatarVariant'], 'url'>[]
  updated_at: string
}

/**
 * A file, expired or not, without authorization.
 * @see prisma/sql/storage/find-file.sql
 */
export const findFile = optional<{ id: string }, FindFileRow>(
  'storage/find-file',
  `SELECT f.id, f.name, f.path, f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.created_at, f.updated_at, f.project_id, f.owner_id
FROM files f
WHERE f.id = $1`,
  ['id'],
)
export interface FindFileRow {
  id: string
  name: string
  path: string
  content_type: string
  declared_content_type: string | null
  bytes: number
  sha256: string
  etag: string
  visibility: 'private' | 'public'
  metadata: Record<string, string>
  tags: string[]
  download_count: number
  expires_at: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * A link of a file.
 * @see prisma/sql/storage/find-link.sql
 */
export const findLink = optional<{ file_id: string; id: string }, FindLinkRow>(
  'storage/find-link',
  `SELECT l.id, l.file_id, f.project_id, CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM files g LEFT JOIN members c ON c.project_id = g.project_id AND c.user_id = l.created_by
    WHERE g.id = l.file_id
      AND (g.project_id IS NULL OR (c.role <= 'editor' AND c.created_at <= l.created_at))
  ) THEN 'revoked'
  WHEN l.download_count >= l.max_downloads THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END AS status, l.max_downloads, l.download_count, l.created_by,
l.expires_at, l.metadata, l.created_at, l.updated_at
FROM file_links l JOIN files f ON f.id = l.file_id
WHERE l.file_id = $1 AND l.id = $2`,
  ['file_id', 'id'],
)
export interface FindLinkRow {
  id: string
  file_id: string
  project_id: string | null
  status: Schemas['FileLink']['status']
  max_downloads: number | null
  download_count: number
  created_by: string
  expires_at: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
}

/**
 * A link by the SHA-256 of its token, with its file, unless the file is expired or no one can read it.
 * @see prisma/sql/storage/find-linked-file.sql
 */
export const findLinkedFile = optional<{ digest: Buffer }, FindLinkedFileRow>(
  'storage/find-linked-file',
  `SELECT l.id AS link_id, CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM files g LEFT JOIN members c ON c.project_id = g.project_id AND c.user_id = l.created_by
    WHERE g.id = l.file_id
      AND (g.project_id IS NULL OR (c.role <= 'editor' AND c.created_at <= l.created_at))
  ) THEN 'revoked'
  WHEN l.download_count >= l.max_downloads THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END AS link_status, f.id, f.name, f.path, f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.created_at, f.updated_at, f.project_id, f.owner_id, f.blob_key
FROM file_links l JOIN files f ON f.id = l.file_id
  JOIN users u ON u.id = f.owner_id LEFT JOIN projects p ON p.id = f.project_id
WHERE l.digest = $1 AND (f.expires_at IS NULL OR f.expires_at > now())
  AND CASE WHEN f.project_id IS NULL THEN u.status = 'active' ELSE p.status <> 'deleted' END`,
  ['digest'],
)
export interface FindLinkedFileRow {
  link_id: string
  link_status: Schemas['FileLink']['status']
  id: string
  name: string
  path: string
  content_type: string
  declared_content_type: string | null
  bytes: number
  sha256: string
  etag: string
  visibility: 'private' | 'public'
  metadata: Record<string, string>
  tags: string[]
  download_count: number
  expires_at: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
  blob_key: string
}

/**
 * An upload, without authorization.
 * @see prisma/sql/storage/find-upload.sql
 */
export const findUpload = optional<{ id: string }, FindUploadRow>(
  'storage/find-upload',
  `SELECT u.id, u.project_id, u.file_id, u.name, u.length,
CASE WHEN u.file_id IS NULL THEN greatest(0, least(u.received, u.length - 1)) ELSE u.length END AS offset,
u.received, coalesce(u.temp_name, u.id) AS temp_name, u.holder, u.expires_at, u.created_at, u.updated_at,
u.user_id, u.user_id AS created_by, u.path, u.declared_content_type, u.visibility, u.metadata, u.tags,
u.file_expires_at, u.sha256, u.raw_metadata, u.expires_at <= now() AS is_expired FROM uploads u WHERE u.id = $1`,
  ['id'],
)
export interface FindUploadRow {
  id: string
  project_id: string | null
  file_id: string | null
  name: string
  length: number
  offset: number
  received: number
  temp_name: string
  holder: string | null
  expires_at: string
  created_at: string
  updated_at: string
  user_id: string
  created_by: string
  path: string
  declared_content_type: string | null
  visibility: 'private' | 'public'
  metadata: Record<string, string>
  tags: string[]
  file_expires_at: string | null
  sha256: string | null
  raw_metadata: string
  is_expired: boolean
}

/**
 * Inserts an avatar whose blobs are stored.
 * @see prisma/sql/storage/insert-avatar.sql
 */
export const insertAvatar = one<{ id: string; user_id: string; variants: object | string; updated_at: Date | string }, InsertAvatarRow>(
  'storage/insert-avatar',
  `INSERT INTO avatars (id, user_id, variants, updated_at)
VALUES ($1, $2, $3, $4)
RETURNING id, variants, updated_at`,
  ['id', 'user_id', 'variants', 'updated_at'],
)
export interface InsertAvatarRow {
  id: string
  variants: Omit<Schemas['AvatarVariant'], 'url'>[]
  updated_at: string
}

/**
 * Inserts a file whose blob is stored under the id. Does not check the quota.
 * @see prisma/sql/storage/insert-file.sql
 */
export const insertFile = one<{ id: string; project_id: string | null; owner_id: string; name: string; path: string; content_type: string; declared_content_type: string | null; bytes: number; sha256: string; visibility: 'private' | 'public'; metadata: object | string; tags: readonly string[]; expires_at: Date | string | null; created_at: Date | string }, InsertFileRow>(
  'storage/insert-file',
  `WITH f AS (
  INSERT INTO files (id, project_id, owner_id, space_id, name, path, content_type, declared_content_type,
    bytes, sha256, visibility, metadata, tags, expires_at, blob_key, created_at, updated_at)
  VALUES ($1, $2, $3, coalesce($2, $3), $4, $5, $6,
    $7, $8, $9, $10, $11, $12, $13, $1, $14,
    $14)
  RETURNING *
)
SELECT f.id, f.name, f.path, f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.created_at, f.updated_at, f.project_id, f.owner_id FROM f`,
  ['id', 'project_id', 'owner_id', 'name', 'path', 'content_type', 'declared_content_type', 'bytes', 'sha256', 'visibility', 'metadata', 'tags', 'expires_at', 'created_at'],
)
export interface InsertFileRow {
  id: string
  name: string
  path: string
  content_type: string
  declared_content_type: string | null
  bytes: number
  sha256: string
  etag: string
  visibility: 'private' | 'public'
  metadata: Record<string, string>
  tags: string[]
  download_count: number
  expires_at: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * Inserts a link to a file. `digest` is the SHA-256 of its token.
 * @see prisma/sql/storage/insert-link.sql
 */
export const insertLink = one<{ id: string; file_id: string; digest: Buffer; max_downloads: number | null; created_by: string; metadata: object | string; expires_at: Date | string; created_at: Date | string }, InsertLinkRow>(
  'storage/insert-link',
  `WITH l AS (
  INSERT INTO file_links (id, file_id, digest, max_downloads, created_by, metadata, expires_at,
    created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
  RETURNING *
)
SELECT l.id, l.file_id, f.project_id, CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM files g LEFT JOIN members c ON c.project_id = g.project_id AND c.user_id = l.created_by
    WHERE g.id = l.file_id
      AND (g.project_id IS NULL OR (c.role <= 'editor' AND c.created_at <= l.created_at))
  ) THEN 'revoked'
  WHEN l.download_count >= l.max_downloads THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END AS status, l.max_downloads, l.download_count, l.created_by,
l.expires_at, l.metadata, l.created_at, l.updated_at FROM l JOIN files f ON f.id = l.file_id`,
  ['id', 'file_id', 'digest', 'max_downloads', 'created_by', 'metadata', 'expires_at', 'created_at'],
)
export interface InsertLinkRow {
  id: string
  file_id: string
  project_id: string | null
  status: Schemas['FileLink']['status']
  max_downloads: number | null
  download_count: number
  created_by: string
  expires_at: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
}

/**
 * Inserts an upload. Does not check the quota.
 * @see prisma/sql/storage/insert-upload.sql
 */
export const insertUpload = one<{ id: string; project_id: string | null; user_id: string; name: string; path: string; declared_content_type: string | null; visibility: 'private' | 'public'; metadata: object | string; tags: readonly string[]; file_expires_at: Date | string | null; sha256: string | null; raw_metadata: string; length: number; created_at: Date | string; expires_at: Date | string }, InsertUploadRow>(
  'storage/insert-upload',
  `WITH u AS (
  INSERT INTO uploads (id, project_id, user_id, space_id, name, path, declared_content_type, visibility,
    metadata, tags, file_expires_at, sha256, raw_metadata, length, created_at, expires_at)
  VALUES ($1, $2, $3, coalesce($2, $3), $4, $5,
    $6, $7, $8, $9, $10, $11, $12,
    $13, $14, $15)
  RETURNING *
)
SELECT u.id, u.project_id, u.file_id, u.name, u.length,
CASE WHEN u.file_id IS NULL THEN greatest(0, least(u.received, u.length - 1)) ELSE u.length END AS offset,
u.received, coalesce(u.temp_name, u.id) AS temp_name, u.holder, u.expires_at, u.created_at, u.updated_at,
u.user_id, u.user_id AS created_by, u.path, u.declared_content_type, u.visibility, u.metadata, u.tags,
u.file_expires_at, u.sha256, u.raw_metadata FROM u`,
  ['id', 'project_id', 'user_id', 'name', 'path', 'declared_content_type', 'visibility', 'metadata', 'tags', 'file_expires_at', 'sha256', 'raw_metadata', 'length', 'created_at', 'expires_at'],
)
export interface InsertUploadRow {
  id: string
  project_id: string | null
  file_id: string | null
  name: string
  length: number
  offset: number
  received: number
  temp_name: string
  holder: string | null
  expires_at: string
  created_at: string
  updated_at: string
  user_id: string
  created_by: string
  path: string
  declared_content_type: string | null
  visibility: 'private' | 'public'
  metadata: Record<string, string>
  tags: string[]
  file_expires_at: string | null
  sha256: string | null
  raw_metadata: string
}

/**
 * The keys of blobs that are to be deleted now.
 * @see prisma/sql/storage/list-due-blobs.sql
 */
export const listDueBlobs = many<{ limit: number }, ListDueBlobsRow>(
  'storage/list-due-blobs',
  `SELECT key FROM deleted_blobs WHERE delete_after <= now() ORDER BY delete_after LIMIT $1`,
  ['limit'],
)
export interface ListDueBlobsRow {
  key: string
}

/**
 * Expired files in the order of their expiry: those after a file, or the first.
 * @see prisma/sql/storage/list-expired-files.sql
 */
export const listExpiredFiles = many<{ after_expires_at: Date | string | null; after_id: string | null; limit: number }, ListExpiredFilesRow>(
  'storage/list-expired-files',
  `SELECT id, expires_at FROM files
WHERE expires_at <= now()
  AND ($1::timestamptz IS NULL OR (expires_at, id) > ($1, $2))
ORDER BY expires_at, id LIMIT $3`,
  ['after_expires_at', 'after_id', 'limit'],
)
export interface ListExpiredFilesRow {
  id: string
  expires_at: string
}

/**
 * The files of a workspace. TypeIDs sort by creation time. The total without filters is the maintained count,
 * minus expired files that are not deleted yet.
 * @see prisma/sql/storage/list-files.sql
 */
export const listFiles = page<{ space_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; content_type_pattern: string; visibility: readonly ('private' | 'public')[]; tag: string; path: string; subfolder_pattern: string; name_pattern: string }, 'created_at' | 'name' | 'bytes' | 'updated_at', ListFilesRow>(
  'storage/list-files',
  {
    select: `SELECT f.id, f.name, f.path, f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.created_at, f.updated_at, f.project_id, f.owner_id
FROM files f
WHERE f.space_id = $1 AND (f.expires_at IS NULL OR f.expires_at > now())`,
    names: ['space_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'content_type_pattern', 'visibility', 'tag', 'path', 'subfolder_pattern', 'name_pattern'],
    filters: {
      created_after: { sql: `f.id >= id_at('file', $2)`, searches: true },
      created_before: { sql: `f.id < id_at('file', $3)`, searches: true },
      updated_after: { sql: `f.updated_at >= $4`, searches: true },
      updated_before: { sql: `f.updated_at < $5`, searches: true },
      metadata: { sql: `f.metadata <> '{}' AND f.metadata @> $6::jsonb`, searches: true },
      content_type_pattern: { sql: `f.content_type COLLATE "C" LIKE $7`, searches: true },
      visibility: { sql: `f.visibility = ANY($8)`, searches: true },
      tag: { sql: `f.tags @> ARRAY[$9]::text[]`, searches: true },
      path: { sql: `f.path COLLATE "C" = $10 OR f.path COLLATE "C" LIKE $11`, searches: true },
      name_pattern: { sql: `lower(f.name) LIKE lower($12)`, searches: true },
    },
    sorts: {
      created_at: `f.id`,
      name: `lower(f.name)`,
      bytes: `f.bytes`,
      updated_at: `f.updated_at`,
    },
    id: `f.id`,
    totals: {
      '': `SELECT coalesce((SELECT files FROM storage_usage WHERE space_id = $1), 0)
  - (SELECT count(*) FROM files f WHERE f.space_id = $1 AND f.expires_at <= now()) AS total`,
    },
  },
)
export interface ListFilesRow {
  id: string
  name: string
  path: string
  content_type: string
  declared_content_type: string | null
  bytes: number
  sha256: string
  etag: string
  visibility: 'private' | 'public'
  metadata: Record<string, string>
  tags: string[]
  download_count: number
  expires_at: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * The links of a file.
 * @see prisma/sql/storage/list-links.sql
 */
export const listLinks = page<{ file_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; status: readonly string[] }, 'created_at' | 'expires_at' | 'updated_at', ListLinksRow>(
  'storage/list-links',
  {
    select: `SELECT l.id, l.file_id, f.project_id, CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM files g LEFT JOIN members c ON c.project_id = g.project_id AND c.user_id = l.created_by
    WHERE g.id = l.file_id
      AND (g.project_id IS NULL OR (c.role <= 'editor' AND c.created_at <= l.created_at))
  ) THEN 'revoked'
  WHEN l.download_count >= l.max_downloads THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END AS status, l.max_downloads, l.download_count, l.created_by,
l.expires_at, l.metadata, l.created_at, l.updated_at
FROM file_links l JOIN files f ON f.id = l.file_id
WHERE l.file_id = $1`,
    names: ['file_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'status'],
    filters: {
      created_after: { sql: `l.created_at >= $2`, searches: true },
      created_before: { sql: `l.created_at < $3`, searches: true },
      updated_after: { sql: `l.updated_at >= $4`, searches: true },
      updated_before: { sql: `l.updated_at < $5`, searches: true },
      metadata: { sql: `l.metadata <> '{}' AND l.metadata @> $6::jsonb`, searches: true },
      status: { sql: `CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM files g LEFT JOIN members c ON c.project_id = g.project_id AND c.user_id = l.created_by
    WHERE g.id = l.file_id
      AND (g.project_id IS NULL OR (c.role <= 'editor' AND c.created_at <= l.created_at))
  ) THEN 'revoked'
  WHEN l.download_count >= l.max_downloads THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END = ANY($7)` },
    },
    sorts: {
      created_at: `l.created_at`,
      expires_at: `l.expires_at`,
      updated_at: `l.updated_at`,
    },
    id: `l.id`,
    totals: {
      '': `SELECT count(*) AS total FROM file_links WHERE file_id = $1`,
    },
  },
)
export interface ListLinksRow {
  id: string
  file_id: string
  project_id: string | null
  status: Schemas['FileLink']['status']
  max_downloads: number | null
  download_count: number
  created_by: string
  expires_at: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
}

/**
 * Those of the keys that no file and no avatar refers to.
 * @see prisma/sql/storage/list-orphaned-blobs.sql
 */
export const listOrphanedBlobs = many<{ keys: readonly string[] }, ListOrphanedBlobsRow>(
  'storage/list-orphaned-blobs',
  `SELECT k.key AS "key" FROM unnest($1::text[]) AS k (key)
WHERE NOT EXISTS (SELECT 1 FROM files f WHERE f.blob_key = k.key)
  AND NOT EXISTS (SELECT 1 FROM avatars a WHERE a.id = split_part(k.key, '-', 1))`,
  ['keys'],
)
export interface ListOrphanedBlobsRow {
  key: string
}

/**
 * Those of the partial files that no unfinished upload uses. Their names begin with the id of their upload.
 * @see prisma/sql/storage/list-unused-partial-files.sql
 */
export const listUnusedPartialFiles = many<{ names: readonly string[] }, ListUnusedPartialFilesRow>(
  'storage/list-unused-partial-files',
  `SELECT k.name AS "name" FROM unnest($1::text[]) AS k (name)
WHERE NOT EXISTS (
  SELECT 1 FROM uploads u WHERE u.id = split_part(k.name, '.', 1) AND u.file_id IS NULL
)`,
  ['names'],
)
export interface ListUnusedPartialFilesRow {
  name: string
}

/**
 * Locks a file for its deletion if it has expired and no other transaction has locked it.
 * @see prisma/sql/storage/lock-expired-file.sql
 */
export const lockExpiredFile = optional<{ id: string }, LockExpiredFileRow>(
  'storage/lock-expired-file',
  `SELECT f.id, f.name, f.path, f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.created_at, f.updated_at, f.project_id, f.owner_id
FROM files f
WHERE f.id = $1 AND f.expires_at <= now()
FOR UPDATE OF f SKIP LOCKED`,
  ['id'],
)
export interface LockExpiredFileRow {
  id: string
  name: string
  path: string
  content_type: string
  declared_content_type: string | null
  bytes: number
  sha256: string
  etag: string
  visibility: 'private' | 'public'
  metadata: Record<string, string>
  tags: string[]
  download_count: number
  expires_at: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * Locks expired uploads that have no lease and that no other transaction has locked.
 * @see prisma/sql/storage/lock-expired-uploads.sql
 */
export const lockExpiredUploads = many<{ limit: number }, LockExpiredUploadsRow>(
  'storage/lock-expired-uploads',
  `SELECT u.id, u.project_id, u.file_id, u.name, u.length,
CASE WHEN u.file_id IS NULL THEN greatest(0, least(u.received, u.length - 1)) ELSE u.length END AS offset,
u.received, coalesce(u.temp_name, u.id) AS temp_name, u.holder, u.expires_at, u.created_at, u.updated_at,
u.user_id, u.user_id AS created_by, u.path, u.declared_content_type, u.visibility, u.metadata, u.tags,
u.file_expires_at, u.sha256, u.raw_metadata FROM uploads u
WHERE u.expires_at <= now() AND coalesce(u.held_until < now(), true)
ORDER BY u.expires_at LIMIT $1
FOR UPDATE SKIP LOCKED`,
  ['limit'],
)
export interface LockExpiredUploadsRow {
  id: string
  project_id: string | null
  file_id: string | null
  name: string
  length: number
  offset: number
  received: number
  temp_name: string
  holder: string | null
  expires_at: string
  created_at: string
  updated_at: string
  user_id: string
  created_by: string
  path: string
  declared_content_type: string | null
  visibility: 'private' | 'public'
  metadata: Record<string, string>
  tags: string[]
  file_expires_at: string | null
  sha256: string | null
  raw_metadata: string
}

/**
 * `read-file` that locks the file against other writers, and its project.
 * @see prisma/sql/storage/lock-file.sql
 */
export const lockFile = optional<{ user_id: string | null; id: string }, LockFileRow>(
  'storage/lock-file',
  `SELECT f.id, f.name, f.path, f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.created_at, f.updated_at, f.blob_key, u.status AS owner_status, f.project_id, f.owner_id,
(SELECT your_member.role FROM members your_member
 WHERE your_member.project_id = f.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = f.project_id FOR SHARE) AS project_status
FROM files f JOIN users u ON u.id = f.owner_id
WHERE f.id = $2 AND (f.expires_at IS NULL OR f.expires_at > now())
FOR NO KEY UPDATE OF f`,
  ['user_id', 'id'],
)
export interface LockFileRow {
  id: string
  name: string
  path: string
  content_type: string
  declared_content_type: string | null
  bytes: number
  sha256: string
  etag: string
  visibility: 'private' | 'public'
  metadata: Record<string, string>
  tags: string[]
  download_count: number
  expires_at: string | null
  created_at: string
  updated_at: string
  blob_key: string
  owner_status: 'active' | 'disabled' | 'deleted'
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * Makes the transactions that take storage in a workspace wait for each other. `taken`: the bytes of its
 * files and unfinished uploads. `used`: with reservations. `besides` is an upload or reservation that does not
 * count.
 * @see prisma/sql/storage/lock-storage.sql
 */
export const lockStorage = one<{ space_id: string; besides: string | null }, LockStorageRow>(
  'storage/lock-storage',
  `SELECT taken AS "taken", used AS "used" FROM lock_storage($1, $2)`,
  ['space_id', 'besides'],
)
export interface LockStorageRow {
  taken: number
  used: number
}

/**
 * `find-upload` that locks the upload until the transaction ends.
 * @see prisma/sql/storage/lock-upload.sql
 */
export const lockUpload = optional<{ id: string }, LockUploadRow>(
  'storage/lock-upload',
  `SELECT u.id, u.project_id, u.file_id, u.name, u.length,
CASE WHEN u.file_id IS NULL THEN greatest(0, least(u.received, u.length - 1)) ELSE u.length END AS offset,
u.received, coalesce(u.temp_name, u.id) AS temp_name, u.holder, u.expires_at, u.created_at, u.updated_at,
u.user_id, u.user_id AS created_by, u.path, u.declared_content_type, u.visibility, u.metadata, u.tags,
u.file_expires_at, u.sha256, u.raw_metadata, u.expires_at <= now() AS is_expired FROM uploads u WHERE u.id = $1
FOR UPDATE`,
  ['id'],
)
export interface LockUploadRow {
  id: string
  project_id: string | null
  file_id: string | null
  name: string
  length: number
  offset: number
  received: number
  temp_name: string
  holder: string | null
  expires_at: string
  created_at: string
  updated_at: string
  user_id: string
  created_by: string
  path: string
  declared_content_type: string | null
  visibility: 'private' | 'public'
  metadata: Record<string, string>
  tags: string[]
  file_expires_at: string | null
  sha256: string | null
  raw_metadata: string
  is_expired: boolean
}

/**
 * Postpones the deletion of blobs.
 * @see prisma/sql/storage/postpone-blobs.sql
 */
export const postponeBlobs = none<{ keys: readonly string[] }>(
  'storage/postpone-blobs',
  `UPDATE deleted_blobs SET delete_after = now() + interval '10 minutes' WHERE key = ANY($1)`,
  ['keys'],
)

/**
 * A file, the key of its blob, the state of its owner and the caller's access to it.
 * @see prisma/sql/storage/read-file.sql
 */
export const readFile = optional<{ user_id: string | null; id: string }, ReadFileRow>(
  'storage/read-file',
  `SELECT f.id, f.name, f.path, f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.created_at, f.updated_at, f.blob_key, u.status AS owner_status, f.project_id, f.owner_id,
(SELECT your_member.role FROM members your_member
 WHERE your_member.project_id = f.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = f.project_id) AS project_status
FROM files f JOIN users u ON u.id = f.owner_id
WHERE f.id = $2 AND (f.expires_at IS NULL OR f.expires_at > now())`,
  ['user_id', 'id'],
)
export interface ReadFileRow {
  id: string
  name: string
  path: string
  content_type: string
  declared_content_type: string | null
  bytes: number
  sha256: string
  etag: string
  visibility: 'private' | 'public'
  metadata: Record<string, string>
  tags: string[]
  download_count: number
  expires_at: string | null
  created_at: string
  updated_at: string
  blob_key: string
  owner_status: 'active' | 'disabled' | 'deleted'
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * Whether an upload is leased.
 * @see prisma/sql/storage/read-is-held.sql
 */
export const readIsHeld = optional<{ id: string }, ReadIsHeldRow>(
  'storage/read-is-held',
  `SELECT coalesce(held_until >= now(), false) AS is_held FROM uploads WHERE id = $1`,
  ['id'],
)
export interface ReadIsHeldRow {
  is_held: boolean
}

/**
 * Whether another request waits for the lease. No row for a lost lease.
 * @see prisma/sql/storage/read-is-requested.sql
 */
export const readIsRequested = optional<{ id: string; holder: string }, ReadIsRequestedRow>(
  'storage/read-is-requested',
  `SELECT coalesce(lease_requested_at > now() - interval '3 seconds', false) AS is_requested FROM uploads WHERE id = $1 AND holder = $2`,
  ['id', 'holder'],
)
export interface ReadIsRequestedRow {
  is_requested: boolean
}

/**
 * The status of a link.
 * @see prisma/sql/storage/read-link-status.sql
 */
export const readLinkStatus = optional<{ id: string }, ReadLinkStatusRow>(
  'storage/read-link-status',
  `SELECT CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM files g LEFT JOIN members c ON c.project_id = g.project_id AND c.user_id = l.created_by
    WHERE g.id = l.file_id
      AND (g.project_id IS NULL OR (c.role <= 'editor' AND c.created_at <= l.created_at))
  ) THEN 'revoked'
  WHEN l.download_count >= l.max_downloads THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END AS status FROM file_links l WHERE l.id = $1`,
  ['id'],
)
export interface ReadLinkStatusRow {
  status: Schemas['FileLink']['status']
}

/**
 * The storage usage of a workspace. `reserved`: the bytes of unfinished uploads and of uploads in progress.
 * @see prisma/sql/storage/read-usage.sql
 */
export const readUsage = one<{ space_id: string }, ReadUsageRow>(
  'storage/read-usage',
  `SELECT coalesce(f.files, 0) AS files, coalesce(f.bytes, 0) AS bytes,
  u.used - coalesce(f.bytes, 0) AS "reserved"
FROM storage_use($1, NULL) u LEFT JOIN storage_usage f ON f.space_id = $1`,
  ['space_id'],
)
export interface ReadUsageRow {
  files: number
  bytes: number
  reserved: number
}

/**
 * Releases a lease. `keep_holder`: the partial file of an expired holder is still in use. The row then keeps
 * a holder, so that the next lease knows that it must relocate.
 * @see prisma/sql/storage/release-lease.sql
 */
export const releaseLease = none<{ keep_holder: boolean; id: string; holder: string }>(
  'storage/release-lease',
  `UPDATE uploads
SET holder = CASE WHEN $1 THEN holder END, held_until = NULL, lease_requested_at = NULL
WHERE id = $2 AND holder = $3`,
  ['keep_holder', 'id', 'holder'],
)

/**
 * Renews a lease and stores how many bytes are durable, if the number is not null. No row for a lost lease.
 * @see prisma/sql/storage/renew-lease.sql
 */
export const renewLease = optional<{ lease_seconds: number; received: number | null; id: string; holder: string }, RenewLeaseRow>(
  'storage/renew-lease',
  `UPDATE uploads
SET held_until = now() + make_interval(secs => $1), received = coalesce($2, received)
WHERE id = $3 AND holder = $4
RETURNING coalesce(lease_requested_at > now() - interval '3 seconds', false) AS is_requested`,
  ['lease_seconds', 'received', 'id', 'holder'],
)
export interface RenewLeaseRow {
  is_requested: boolean
}

/**
 * Renews reservations whose uploads are in progress.
 * @see prisma/sql/storage/renew-reservations.sql
 */
export const renewReservations = none<{ seconds: number; ids: readonly string[] }>(
  'storage/renew-reservations',
  `UPDATE storage_reservations SET held_until = now() + make_interval(secs => $1) WHERE id = ANY($2)`,
  ['seconds', 'ids'],
)

/**
 * Asks the lease holder of an upload to release the lease.
 * @see prisma/sql/storage/request-lease.sql
 */
export const requestLease = optional<{ id: string }, RequestLeaseRow>(
  'storage/request-lease',
  `UPDATE uploads SET lease_requested_at = now() WHERE id = $1
RETURNING coalesce(held_until >= now(), false) AS is_held`,
  ['id'],
)
export interface RequestLeaseRow {
  is_held: boolean
}

/**
 * Adds to a reservation, or begins it: at most `most_bytes`, null when fewer than `least_bytes` are left.
 * @see prisma/sql/storage/reserve-storage.sql
 */
export const reserveStorage = one<{ id: string; space_id: string; least_bytes: number; most_bytes: number; quota: number; seconds: number }, ReserveStorageRow>(
  'storage/reserve-storage',
  `SELECT reserve_storage($1, $2, $3, $4, $5, $6) AS "bytes"`,
  ['id', 'space_id', 'least_bytes', 'most_bytes', 'quota', 'seconds'],
)
export interface ReserveStorageRow {
  bytes: number | null
}

/**
 * Revokes a link, unless it is revoked already.
 * @see prisma/sql/storage/revoke-link.sql
 */
export const revokeLink = none<{ id: string }>(
  'storage/revoke-link',
  `UPDATE file_links SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1`,
  ['id'],
)

/**
 * Sets the URL of a user's avatar; null for no avatar.
 * @see prisma/sql/storage/set-avatar-url.sql
 */
export const setAvatarUrl = one<{ avatar_url: string | null; user_id: string }, SetAvatarUrlRow>(
  'storage/set-avatar-url',
  `UPDATE users
SET avatar_url = $1, updated_at = greatest(now(), updated_at + interval '1 millisecond')
WHERE id = $2
RETURNING updated_at`,
  ['avatar_url', 'user_id'],
)
export interface SetAvatarUrlRow {
  updated_at: string
}

/**
 * Finishes an upload: it has become a file.
 * @see prisma/sql/storage/set-file-of-upload.sql
 */
export const setFileOfUpload = none<{ file_id: string; id: string }>(
  'storage/set-file-of-upload',
  `UPDATE uploads SET file_id = $1 WHERE id = $2`,
  ['file_id', 'id'],
)

/**
 * Sets the name of the partial file of a leased upload. Returns no row if the lease is lost.
 * @see prisma/sql/storage/set-temp-name.sql
 */
export const setTempName = optional<{ temp_name: string; id: string; holder: string }, SetTempNameRow>(
  'storage/set-temp-name',
  `UPDATE uploads SET temp_name = $1 WHERE id = $2 AND holder = $3
RETURNING id`,
  ['temp_name', 'id', 'holder'],
)
export interface SetTempNameRow {
  id: string
}
