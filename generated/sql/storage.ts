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
 * Begins a sweep of the file store.
 * @see prisma/sql/storage/begin-sweep.sql
 */
export const beginSweep = none<{ sweep_id: string }>(
  'storage/begin-sweep',
  `UPDATE database_identity SET sweep_id = $1, sweep_began_at = now()`,
  ['sweep_id'],
)

/**
 * The rows of these blobs. `bytes` and `sha256` are null for a blob without a row. A blob is counted by
 * `count-blobs-by-shard` if it has a row from before the time.
 * @see prisma/sql/storage/compare-blobs.sql
 */
export const compareBlobs = many<{ before: Date | string; keys: readonly string[] }, CompareBlobsRow>(
  'storage/compare-blobs',
  `SELECT k.key AS "key", coalesce(f.bytes, v.bytes, e.bytes) AS "bytes",
  coalesce(f.sha256, v.sha256, e.sha256) AS "sha256",
  coalesce(coalesce(f.since, a.updated_at, e.completed_at) < $1, false) AS "is_counted",
  EXISTS (SELECT FROM quarantined_blobs q WHERE q.key = k.key) AS is_quarantined
FROM unnest($2::text[]) AS k (key)
  LEFT JOIN LATERAL (
    SELECT r.bytes, r.sha256, r.since FROM (SELECT blob_key, bytes, sha256, coalesce(content_updated_at, created_at) AS since FROM files
  UNION ALL SELECT blob_key, bytes, sha256, created_at FROM file_versions) r WHERE r.blob_key = k.key ORDER BY r.since LIMIT 1
  ) f ON true
  LEFT JOIN account_exports e ON e.blob_key = k.key
  LEFT JOIN avatars a ON a.id = split_part(k.key, '-', 1)
  LEFT JOIN LATERAL jsonb_to_recordset(a.variants) AS v (size int, bytes bigint, sha256 text)
    ON v.size::text = split_part(k.key, '-', 2)`,
  ['before', 'keys'],
  { reads: true },
)
export interface CompareBlobsRow {
  key: string
  bytes: number | null
  sha256: string | null
  is_counted: boolean
  is_quarantined: boolean
}

/**
 * How many blobs the rows from before a time need, by the last two characters of the id. Several files and
 * versions may have one blob.
 * @see prisma/sql/storage/count-blobs-by-shard.sql
 */
export const countBlobsByShard = many<{ before: Date | string }, CountBlobsByShardRow>(
  'storage/count-blobs-by-shard',
  `SELECT right(b.id, 2) AS "shard", sum(b.n)::int AS "n"
FROM (
  SELECT f.blob_key AS id, 1 AS n FROM (SELECT blob_key, bytes, sha256, coalesce(content_updated_at, created_at) AS since FROM files
  UNION ALL SELECT blob_key, bytes, sha256, created_at FROM file_versions) f WHERE f.since < $1 GROUP BY f.blob_key
  UNION ALL
  SELECT a.id, jsonb_array_length(a.variants) FROM avatars a WHERE a.updated_at < $1
  UNION ALL
  SELECT e.blob_key, 1 FROM account_exports e WHERE e.completed_at < $1 AND e.blob_key IS NOT NULL
) b
GROUP BY 1`,
  ['before'],
  { reads: true },
)
export interface CountBlobsByShardRow {
  shard: string
  n: number
}

/**
 * How many blobs the store has at most, roughly: several files may have one blob.
 * @see prisma/sql/storage/count-expected-blobs.sql
 */
export const countExpectedBlobs = one<{}, CountExpectedBlobsRow>(
  'storage/count-expected-blobs',
  `SELECT ((SELECT coalesce(sum(files + versions), 0) FROM storage_usage) + 3 * (SELECT count(*) FROM avatars)
  + (SELECT count(*) FROM account_exports WHERE blob_key IS NOT NULL)
  + (SELECT count(*) FROM quarantined_blobs WHERE reason = 'deleted'))::bigint AS "n"`,
  [],
  { reads: true },
)
export interface CountExpectedBlobsRow {
  n: number
}

/**
 * The number of folders of a workspace, with those that are being deleted.
 * @see prisma/sql/storage/count-folders.sql
 */
export const countFolders = one<{ workspace_id: string }, CountFoldersRow>(
  'storage/count-folders',
  `SELECT count(*)::int AS n FROM folders d WHERE d.workspace_id = $1`,
  ['workspace_id'],
  { reads: true },
)
export interface CountFoldersRow {
  n: number
}

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
      LEFT JOIN users creator ON creator.id = c.user_id
    WHERE g.id = l.file_id AND (g.project_id IS NULL
      OR (c.storage_role <= 'editor' AND c.created_at <= l.created_at AND creator.status = 'active'))
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
 * Counts an upload by a link if the link is active. One conditional UPDATE, so that `max_files` holds under
 * concurrency.
 * @see prisma/sql/storage/count-link-upload.sql
 */
export const countLinkUpload = optional<{ id: string }, CountLinkUploadRow>(
  'storage/count-link-upload',
  `UPDATE upload_links l SET file_count = file_count + 1
WHERE l.id = $1 AND CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM users creator
      LEFT JOIN members c ON c.project_id = l.project_id AND c.user_id = creator.id
    WHERE creator.id = l.owner_id AND creator.status = 'active'
      AND (l.project_id IS NULL OR (c.storage_role <= 'editor' AND c.created_at <= l.created_at))
  ) THEN 'revoked'
  WHEN l.file_count >= l.max_files THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END = 'active'
RETURNING l.id`,
  ['id'],
)
export interface CountLinkUploadRow {
  id: string
}

/**
 * The shares of a folder.
 * @see prisma/sql/storage/count-shares.sql
 */
export const countShares = one<{ folder_id: string }, CountSharesRow>(
  'storage/count-shares',
  `SELECT count(*)::int AS "n" FROM folder_shares WHERE folder_id = $1`,
  ['folder_id'],
  { reads: true },
)
export interface CountSharesRow {
  n: number
}

/**
 * The unfinished uploads whose bytes are in parts in S3.
 * @see prisma/sql/storage/count-uploads-in-parts.sql
 */
export const countUploadsInParts = one<{}, CountUploadsInPartsRow>(
  'storage/count-uploads-in-parts',
  `SELECT count(*)::int AS n FROM uploads WHERE multipart IS NOT NULL AND file_id IS NULL`,
  [],
  { reads: true },
)
export interface CountUploadsInPartsRow {
  n: number
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
 * Deletes the avatar of a user. A trigger puts its blobs into quarantine.
 * @see prisma/sql/storage/delete-avatar-of-user.sql
 */
export const deleteAvatarOfUser = none<{ user_id: string }>(
  'storage/delete-avatar-of-user',
  `DELETE FROM avatars WHERE user_id = $1`,
  ['user_id'],
)

/**
 * Deletes the shares of a folder that have ended or expired.
 * @see prisma/sql/storage/delete-ended-shares.sql
 */
export const deleteEndedShares = none<{ folder_id: string }>(
  'storage/delete-ended-shares',
  `DELETE FROM folder_shares s WHERE s.folder_id = $1 AND CASE WHEN NOT EXISTS (
    SELECT FROM users creator
      LEFT JOIN members c ON c.project_id = s.project_id AND c.user_id = creator.id
    WHERE creator.id = s.owner_id AND creator.status = 'active'
      AND (s.project_id IS NULL OR (c.storage_role <= 'editor' AND c.created_at <= s.created_at))
  ) THEN 'ended'
  WHEN s.expires_at <= now() THEN 'expired' ELSE 'active' END <> 'active'`,
  ['folder_id'],
)

/**
 * Deletes a batch of the archives that have expired.
 * @see prisma/sql/storage/delete-expired-archives.sql
 */
export const deleteExpiredArchives = one<{ limit: number }, DeleteExpiredArchivesRow>(
  'storage/delete-expired-archives',
  `WITH deleted AS (
  DELETE FROM archives WHERE id = ANY(ARRAY(
    SELECT id FROM archives WHERE expires_at < now() LIMIT $1
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteExpiredArchivesRow {
  n: number
}

/**
 * Deletes a file. Triggers put its blob and those of its versions into quarantine.
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
    SELECT f.id FROM users u JOIN files f ON f.workspace_id = u.id
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
 * Deletes files. Triggers put their blobs and those of their versions into quarantine.
 * @see prisma/sql/storage/delete-files.sql
 */
export const deleteFiles = none<{ ids: readonly string[] }>(
  'storage/delete-files',
  `DELETE FROM files WHERE id = ANY($1)`,
  ['ids'],
)

/**
 * Deletes the folders of deleted users without files.
 * @see prisma/sql/storage/delete-folders-of-deleted-users.sql
 */
export const deleteFoldersOfDeletedUsers = one<{ limit: number }, DeleteFoldersOfDeletedUsersRow>(
  'storage/delete-folders-of-deleted-users',
  `WITH deleted AS (
  DELETE FROM folders WHERE workspace_id = ANY(ARRAY(
    SELECT u.id FROM users u
    WHERE u.status = 'deleted' AND EXISTS (SELECT FROM folders d WHERE d.workspace_id = u.id)
      AND NOT EXISTS (SELECT FROM files f WHERE f.workspace_id = u.id)
    LIMIT $1))
  RETURNING workspace_id
)
SELECT count(DISTINCT workspace_id)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteFoldersOfDeletedUsersRow {
  n: number
}

/**
 * Deletes the empty folders of a job. A folder in them that another job deletes loses its parent.
 * @see prisma/sql/storage/delete-hidden-folders.sql
 */
export const deleteHiddenFolders = none<{ job_id: string }>(
  'storage/delete-hidden-folders',
  `WITH left_over AS (
  UPDATE folders d SET parent_id = NULL
  FROM folders p
  WHERE p.id = d.parent_id AND p.deletion_job_id = $1 AND d.deletion_job_id <> $1
)
DELETE FROM folders d WHERE d.deletion_job_id = $1`,
  ['job_id'],
)

/**
 * Deletes a batch of the upload links that expired more than 30 days ago.
 * @see prisma/sql/storage/delete-old-upload-links.sql
 */
export const deleteOldUploadLinks = one<{ limit: number }, DeleteOldUploadLinksRow>(
  'storage/delete-old-upload-links',
  `WITH deleted AS (
  DELETE FROM upload_links WHERE id = ANY(ARRAY(
    SELECT id FROM upload_links WHERE expires_at < now() - interval '30 days' LIMIT $1
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteOldUploadLinksRow {
  n: number
}

/**
 * Deletes a batch of the versions that were replaced some days ago.
 * @see prisma/sql/storage/delete-old-versions.sql
 */
export const deleteOldVersions = one<{ days: number; limit: number }, DeleteOldVersionsRow>(
  'storage/delete-old-versions',
  `WITH deleted AS (
  DELETE FROM file_versions WHERE id = ANY(ARRAY(
    SELECT id FROM file_versions WHERE replaced_at < now() - make_interval(days => $1)
    ORDER BY replaced_at LIMIT $2
    FOR UPDATE SKIP LOCKED))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['days', 'limit'],
)
export interface DeleteOldVersionsRow {
  n: number
}

/**
 * Forgets blobs that were removed from the store.
 * @see prisma/sql/storage/delete-quarantined-blobs.sql
 */
export const deleteQuarantinedBlobs = none<{ keys: readonly string[] }>(
  'storage/delete-quarantined-blobs',
  `DELETE FROM quarantined_blobs WHERE key = ANY($1)`,
  ['keys'],
)

/**
 * Deletes a share. Of two requests at once, one gets the row.
 * @see prisma/sql/storage/delete-share.sql
 */
export const deleteShare = optional<{ id: string }, DeleteShareRow>(
  'storage/delete-share',
  `DELETE FROM folder_shares WHERE id = $1 RETURNING id`,
  ['id'],
)
export interface DeleteShareRow {
  id: string
}

/**
 * Deletes all but the latest archives of a user.
 * @see prisma/sql/storage/delete-surplus-archives.sql
 */
export const deleteSurplusArchives = none<{ owner_id: string; kept: number }>(
  'storage/delete-surplus-archives',
  `DELETE FROM archives WHERE id IN (
  SELECT id FROM archives WHERE owner_id = $1 ORDER BY id DESC OFFSET $2
)`,
  ['owner_id', 'kept'],
)

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
 * Deletes a version. A trigger puts its blob into quarantine.
 * @see prisma/sql/storage/delete-version.sql
 */
export const deleteVersion = none<{ id: string }>(
  'storage/delete-version',
  `DELETE FROM file_versions WHERE id = $1`,
  ['id'],
)

/**
 * Ends a reservation when its file is inserted: `lock-storage`, without the reservation or upload `id`.
 * @see prisma/sql/storage/end-reservation-and-lock-storage.sql
 */
export const endReservationAndLockStorage = one<{ id: string | null; workspace_id: string }, EndReservationAndLockStorageRow>(
  'storage/end-reservation-and-lock-storage',
  `WITH ended AS (DELETE FROM storage_reservations WHERE id = $1)
SELECT taken AS "taken", used AS "used" FROM lock_storage($2, $1)`,
  ['id', 'workspace_id'],
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
 * The folder with a path, created with those above it if there is none: see the function. Null if the
 * workspace has too many folders.
 * @see prisma/sql/storage/ensure-folder.sql
 */
export const ensureFolder = one<{ workspace_id: string; project_id: string | null; owner_id: string; path: string; most: number }, EnsureFolderRow>(
  'storage/ensure-folder',
  `SELECT folder AS "id", created AS "created"
FROM ensure_folder($1, $2, $3, $4, $5)`,
  ['workspace_id', 'project_id', 'owner_id', 'path', 'most'],
)
export interface EnsureFolderRow {
  id: string | null
  created: string[]
}

/**
 * The avatar of a user.
 * @see prisma/sql/storage/find-avatar-of-user.sql
 */
export const findAvatarOfUser = optional<{ user_id: string }, FindAvatarOfUserRow>(
  'storage/find-avatar-of-user',
  `SELECT id, variants, updated_at FROM avatars WHERE user_id = $1`,
  ['user_id'],
  { reads: true },
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
  { reads: true },
)
export interface FindAvatarRow {
  id: string
  variants: Omit<Schemas['AvatarVariant'], 'url'>[]
  updated_at: string
}

/**
 * A file, visible or not, without authorization.
 * @see prisma/sql/storage/find-file.sql
 */
export const findFile = optional<{ id: string }, FindFileRow>(
  'storage/find-file',
  `SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id
FROM files f
WHERE f.id = $1`,
  ['id'],
  { reads: true },
)
export interface FindFileRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * Files by their ids, visible or not, without authorization.
 * @see prisma/sql/storage/find-files.sql
 */
export const findFiles = many<{ ids: readonly string[] }, FindFilesRow>(
  'storage/find-files',
  `SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id
FROM files f
WHERE f.id = ANY($1)
ORDER BY f.id`,
  ['ids'],
  { reads: true },
)
export interface FindFilesRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * The folder with a path, which is not being deleted.
 * @see prisma/sql/storage/find-folder-by-path.sql
 */
export const findFolderByPath = optional<{ workspace_id: string; path: string }, FindFolderByPathRow>(
  'storage/find-folder-by-path',
  `SELECT d.id FROM folders d
WHERE d.workspace_id = $1 AND md5(d.path) = md5(normalize($2, NFC))
  AND d.path = normalize($2, NFC) AND d.deleted_at IS NULL`,
  ['workspace_id', 'path'],
  { reads: true },
)
export interface FindFolderByPathRow {
  id: string
}

/**
 * A folder of a workspace that is not being deleted, without authorization.
 * @see prisma/sql/storage/find-folder.sql
 */
export const findFolder = optional<{ id: string; workspace_id: string }, FindFolderRow>(
  'storage/find-folder',
  `SELECT d.id, d.parent_id, d.name, d.path, d.metadata, d.owner_id AS created_by, d.created_at,
d.updated_at, d.project_id
FROM folders d
WHERE d.id = $1 AND d.workspace_id = $2 AND d.deleted_at IS NULL`,
  ['id', 'workspace_id'],
  { reads: true },
)
export interface FindFolderRow {
  id: string
  parent_id: string | null
  name: string
  path: string
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * The folders with these paths, each in its workspace.
 * @see prisma/sql/storage/find-folders-by-paths.sql
 */
export const findFoldersByPaths = many<{ workspace_ids: readonly string[]; paths: readonly string[] }, FindFoldersByPathsRow>(
  'storage/find-folders-by-paths',
  `SELECT d.id, d.workspace_id, d.path
FROM unnest($1::text[], $2::text[]) AS w (workspace_id, path)
  JOIN folders d ON d.workspace_id = w.workspace_id AND md5(d.path) = md5(w.path) AND d.path = w.path
WHERE d.deleted_at IS NULL`,
  ['workspace_ids', 'paths'],
  { reads: true },
)
export interface FindFoldersByPathsRow {
  id: string
  workspace_id: string
  path: string
}

/**
 * The first of the names that no file in the folder has. The file `besides` does not count.
 * @see prisma/sql/storage/find-free-name.sql
 */
export const findFreeName = optional<{ names: readonly string[]; workspace_id: string; folder_id: string | null; besides: string }, FindFreeNameRow>(
  'storage/find-free-name',
  `SELECT n.name AS "name"
FROM unnest($1::text[]) WITH ORDINALITY AS n (name, position)
WHERE NOT EXISTS (
  SELECT FROM files f
  WHERE f.workspace_id = $2 AND coalesce(f.folder_id, '') = coalesce($3, '') AND (hashtextextended(normalize(f.name, NFC), 0) = hashtextextended(normalize(n.name, NFC), 0)
  AND normalize(f.name, NFC) = normalize(n.name, NFC))
    AND f.id <> $4 AND ((f.expires_at IS NULL OR f.expires_at > now()) AND f.trashed_at IS NULL AND (f.folder_id IS NULL OR (SELECT gone.deleted_at FROM folders gone WHERE gone.id = f.folder_id) IS NULL))
)
ORDER BY n.position LIMIT 1`,
  ['names', 'workspace_id', 'folder_id', 'besides'],
  { reads: true },
)
export interface FindFreeNameRow {
  name: string
}

/**
 * The first of the paths that no folder has.
 * @see prisma/sql/storage/find-free-path.sql
 */
export const findFreePath = optional<{ paths: readonly string[]; workspace_id: string }, FindFreePathRow>(
  'storage/find-free-path',
  `SELECT n.path AS "path"
FROM unnest($1::text[]) WITH ORDINALITY AS n (path, position)
WHERE NOT EXISTS (
  SELECT FROM folders d
  WHERE d.workspace_id = $2 AND d.deleted_at IS NULL AND md5(d.path) = md5(n.path)
    AND d.path = n.path
)
ORDER BY n.position LIMIT 1`,
  ['paths', 'workspace_id'],
  { reads: true },
)
export interface FindFreePathRow {
  path: string
}

/**
 * A folder that a job deletes, and the path of its parent if that is visible.
 * @see prisma/sql/storage/find-hidden-folder.sql
 */
export const findHiddenFolder = optional<{ id: string; job_id: string }, FindHiddenFolderRow>(
  'storage/find-hidden-folder',
  `SELECT d.name, d.path, p.id AS "parent_id", p.path AS "parent_path"
FROM folders d LEFT JOIN folders p ON p.id = d.parent_id AND p.deleted_at IS NULL
WHERE d.id = $1 AND d.deletion_job_id = $2`,
  ['id', 'job_id'],
  { reads: true },
)
export interface FindHiddenFolderRow {
  name: string
  path: string
  parent_id: string | null
  parent_path: string | null
}

/**
 * Like `find-upload`: an upload of the link with this digest, unless its project is deleted.
 * @see prisma/sql/storage/find-link-upload.sql
 */
export const findLinkUpload = optional<{ id: string; digest: Buffer }, FindLinkUploadRow>(
  'storage/find-link-upload',
  `SELECT u.id, u.project_id, u.file_id, u.name, u.length,
CASE WHEN u.file_id IS NULL THEN greatest(0, least(u.received, u.length - 1)) ELSE u.length END AS offset,
u.received, coalesce(u.temp_name, u.id) AS temp_name, u.holder, u.expires_at, u.created_at, u.updated_at,
u.user_id, u.user_id AS created_by, u.path, u.folder_id, u.declared_content_type, u.visibility,
u.metadata, u.tags, u.file_expires_at, u.sha256, u.on_conflict, u.raw_metadata, u.multipart, u.expires_at <= now() AS is_expired
FROM uploads u JOIN upload_links l ON l.id = u.upload_link_id LEFT JOIN projects p ON p.id = l.project_id
WHERE u.id = $1 AND l.digest = $2 AND p.status IS DISTINCT FROM 'deleted'`,
  ['id', 'digest'],
  { reads: true },
)
export interface FindLinkUploadRow {
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
  folder_id: string | null
  declared_content_type: string | null
  visibility: 'private' | 'public'
  metadata: Record<string, string>
  tags: string[]
  file_expires_at: string | null
  sha256: string | null
  on_conflict: 'duplicate' | 'fail' | 'rename' | 'replace'
  raw_metadata: string
  multipart: { key: string, id: string, part_size: number, etags: string[], tail: string | null } | null
  is_expired: boolean
}

/**
 * A link of a file.
 * @see prisma/sql/storage/find-link.sql
 */
export const findLink = optional<{ file_id: string; id: string }, FindLinkRow>(
  'storage/find-link',
  `SELECT l.id, l.file_id, f.project_id, CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM files g LEFT JOIN members c ON c.project_id = g.project_id AND c.user_id = l.created_by
      LEFT JOIN users creator ON creator.id = c.user_id
    WHERE g.id = l.file_id AND (g.project_id IS NULL
      OR (c.storage_role <= 'editor' AND c.created_at <= l.created_at AND creator.status = 'active'))
  ) THEN 'revoked'
  WHEN l.download_count >= l.max_downloads THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END AS status, l.max_downloads, l.download_count, l.created_by,
l.expires_at, l.metadata, l.created_at, l.updated_at
FROM file_links l JOIN files f ON f.id = l.file_id
WHERE l.file_id = $1 AND l.id = $2`,
  ['file_id', 'id'],
  { reads: true },
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
      LEFT JOIN users creator ON creator.id = c.user_id
    WHERE g.id = l.file_id AND (g.project_id IS NULL
      OR (c.storage_role <= 'editor' AND c.created_at <= l.created_at AND creator.status = 'active'))
  ) THEN 'revoked'
  WHEN l.download_count >= l.max_downloads THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END AS link_status, f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id, f.blob_key
FROM file_links l JOIN files f ON f.id = l.file_id
  JOIN users u ON u.id = f.owner_id LEFT JOIN projects p ON p.id = f.project_id
WHERE l.digest = $1 AND ((f.expires_at IS NULL OR f.expires_at > now()) AND f.trashed_at IS NULL AND (f.folder_id IS NULL OR (SELECT gone.deleted_at FROM folders gone WHERE gone.id = f.folder_id) IS NULL))
  AND CASE WHEN f.project_id IS NULL THEN u.status = 'active' ELSE p.status <> 'deleted' END`,
  ['digest'],
  { reads: true },
)
export interface FindLinkedFileRow {
  link_id: string
  link_status: Schemas['FileLink']['status']
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
  blob_key: string
}

/**
 * A share that counts for a user.
 * @see prisma/sql/storage/find-share-with-user.sql
 */
export const findShareWithUser = optional<{ id: string; user_id: string }, FindShareWithUserRow>(
  'storage/find-share-with-user',
  `SELECT s.id, s.folder_id,
(SELECT its_folder.name FROM folders its_folder WHERE its_folder.id = s.folder_id) AS "folder_name",
s.project_id, s.email, s.role, CASE WHEN NOT EXISTS (
    SELECT FROM users creator
      LEFT JOIN members c ON c.project_id = s.project_id AND c.user_id = creator.id
    WHERE creator.id = s.owner_id AND creator.status = 'active'
      AND (s.project_id IS NULL OR (c.storage_role <= 'editor' AND c.created_at <= s.created_at))
  ) THEN 'ended'
  WHEN s.expires_at <= now() THEN 'expired' ELSE 'active' END AS status, s.owner_id AS created_by,
(SELECT its_owner.name FROM users its_owner WHERE its_owner.id = s.owner_id) AS "created_by_name",
s.expires_at, s.created_at
FROM users u JOIN folder_shares s ON s.email = u.email JOIN folders d ON d.id = s.folder_id
  LEFT JOIN projects p ON p.id = s.project_id
WHERE s.id = $1 AND u.id = $2 AND u.email_verified AND d.deleted_at IS NULL
  AND CASE WHEN NOT EXISTS (
    SELECT FROM users creator
      LEFT JOIN members c ON c.project_id = s.project_id AND c.user_id = creator.id
    WHERE creator.id = s.owner_id AND creator.status = 'active'
      AND (s.project_id IS NULL OR (c.storage_role <= 'editor' AND c.created_at <= s.created_at))
  ) THEN 'ended'
  WHEN s.expires_at <= now() THEN 'expired' ELSE 'active' END = 'active' AND (p.id IS NULL OR p.status <> 'deleted')`,
  ['id', 'user_id'],
  { reads: true },
)
export interface FindShareWithUserRow {
  id: string
  folder_id: string
  folder_name: string
  project_id: string | null
  email: string
  role: Schemas['Share']['role']
  status: Schemas['Share']['status']
  created_by: string
  created_by_name: string
  expires_at: string | null
  created_at: string
}

/**
 * A share of a folder.
 * @see prisma/sql/storage/find-share.sql
 */
export const findShare = optional<{ id: string; folder_id: string }, FindShareRow>(
  'storage/find-share',
  `SELECT s.id, s.folder_id,
(SELECT its_folder.name FROM folders its_folder WHERE its_folder.id = s.folder_id) AS "folder_name",
s.project_id, s.email, s.role, CASE WHEN NOT EXISTS (
    SELECT FROM users creator
      LEFT JOIN members c ON c.project_id = s.project_id AND c.user_id = creator.id
    WHERE creator.id = s.owner_id AND creator.status = 'active'
      AND (s.project_id IS NULL OR (c.storage_role <= 'editor' AND c.created_at <= s.created_at))
  ) THEN 'ended'
  WHEN s.expires_at <= now() THEN 'expired' ELSE 'active' END AS status, s.owner_id AS created_by,
(SELECT its_owner.name FROM users its_owner WHERE its_owner.id = s.owner_id) AS "created_by_name",
s.expires_at, s.created_at FROM folder_shares s WHERE s.id = $1 AND s.folder_id = $2`,
  ['id', 'folder_id'],
  { reads: true },
)
export interface FindShareRow {
  id: string
  folder_id: string
  folder_name: string
  project_id: string | null
  email: string
  role: Schemas['Share']['role']
  status: Schemas['Share']['status']
  created_by: string
  created_by_name: string
  expires_at: string | null
  created_at: string
}

/**
 * The best role that shares of folders, and of those above them, give a user, and the user who shares.
 * @see prisma/sql/storage/find-shared-roles.sql
 */
export const findSharedRoles = many<{ folder_ids: readonly string[]; user_id: string }, FindSharedRolesRow>(
  'storage/find-shared-roles',
  `WITH RECURSIVE above AS (
  SELECT d.id AS folder_id, d.id, d.parent_id
  FROM folders d WHERE d.id = ANY($1) AND d.deleted_at IS NULL
  UNION ALL
  SELECT above.folder_id, p.id, p.parent_id FROM above JOIN folders p ON p.id = above.parent_id
)
SELECT DISTINCT ON (above.folder_id) above.folder_id AS "folder_id", s.role, s.owner_id
FROM above JOIN users u ON u.id = $2 AND u.email_verified
  JOIN folder_shares s ON s.folder_id = above.id AND s.email = u.email
WHERE CASE WHEN NOT EXISTS (
    SELECT FROM users creator
      LEFT JOIN members c ON c.project_id = s.project_id AND c.user_id = creator.id
    WHERE creator.id = s.owner_id AND creator.status = 'active'
      AND (s.project_id IS NULL OR (c.storage_role <= 'editor' AND c.created_at <= s.created_at))
  ) THEN 'ended'
  WHEN s.expires_at <= now() THEN 'expired' ELSE 'active' END = 'active'
ORDER BY above.folder_id, s.role, s.created_at`,
  ['folder_ids', 'user_id'],
  { reads: true },
)
export interface FindSharedRolesRow {
  folder_id: string
  role: 'owner' | 'admin' | 'editor' | 'viewer'
  owner_id: string
}

/**
 * An upload link by the SHA-256 of its token, unless its project is deleted.
 * @see prisma/sql/storage/find-upload-link.sql
 */
export const findUploadLink = optional<{ digest: Buffer }, FindUploadLinkRow>(
  'storage/find-upload-link',
  `SELECT l.id, l.path, l.title, CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM users creator
      LEFT JOIN members c ON c.project_id = l.project_id AND c.user_id = creator.id
    WHERE creator.id = l.owner_id AND creator.status = 'active'
      AND (l.project_id IS NULL OR (c.storage_role <= 'editor' AND c.created_at <= l.created_at))
  ) THEN 'revoked'
  WHEN l.file_count >= l.max_files THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END AS status, l.max_bytes, l.content_types,
l.max_files, l.file_count, l.owner_id AS created_by, l.expires_at, l.metadata, l.created_at, l.updated_at, l.project_id, l.owner_id, l.workspace_id, p.status AS project_status,
  (SELECT count(*) FROM uploads o
 WHERE o.upload_link_id = l.id AND o.file_id IS NULL AND o.expires_at > now())::int AS "open_uploads"
FROM upload_links l LEFT JOIN projects p ON p.id = l.project_id
WHERE l.digest = $1 AND p.status IS DISTINCT FROM 'deleted'`,
  ['digest'],
  { reads: true },
)
export interface FindUploadLinkRow {
  id: string
  path: string
  title: string | null
  status: Schemas['UploadLink']['status']
  max_bytes: number | null
  content_types: string[]
  max_files: number | null
  file_count: number
  created_by: string
  expires_at: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
  workspace_id: string
  project_status: 'active' | 'archived' | 'deleted' | null
  open_uploads: number
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
u.user_id, u.user_id AS created_by, u.path, u.folder_id, u.declared_content_type, u.visibility,
u.metadata, u.tags, u.file_expires_at, u.sha256, u.on_conflict, u.raw_metadata, u.multipart, u.expires_at <= now() AS is_expired FROM uploads u WHERE u.id = $1`,
  ['id'],
  { reads: true },
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
  folder_id: string | null
  declared_content_type: string | null
  visibility: 'private' | 'public'
  metadata: Record<string, string>
  tags: string[]
  file_expires_at: string | null
  sha256: string | null
  on_conflict: 'duplicate' | 'fail' | 'rename' | 'replace'
  raw_metadata: string
  multipart: { key: string, id: string, part_size: number, etags: string[], tail: string | null } | null
  is_expired: boolean
}

/**
 * A version of a file, and the key of its blob.
 * @see prisma/sql/storage/find-version.sql
 */
export const findVersion = optional<{ id: string; file_id: string }, FindVersionRow>(
  'storage/find-version',
  `SELECT v.id, v.file_id, v.number, v.bytes, v.sha256, '"' || v.sha256 || '"' AS etag, v.content_type,
v.declared_content_type, v.created_by, v.created_at, v.replaced_at, v.blob_key FROM file_versions v WHERE v.id = $1 AND v.file_id = $2`,
  ['id', 'file_id'],
  { reads: true },
)
export interface FindVersionRow {
  id: string
  file_id: string
  number: number
  bytes: number
  sha256: string
  etag: string
  content_type: string
  declared_content_type: string | null
  created_by: string
  created_at: string
  replaced_at: string
  blob_key: string
}

/**
 * Ends a sweep: the next one is due a day later.
 * @see prisma/sql/storage/finish-sweep.sql
 */
export const finishSweep = none<{ sweep_id: string }>(
  'storage/finish-sweep',
  `UPDATE database_identity SET swept_at = now() WHERE sweep_id = $1`,
  ['sweep_id'],
)

/**
 * Whether the database has any file, avatar or export.
 * @see prisma/sql/storage/has-files.sql
 */
export const hasFiles = one<{}, HasFilesRow>(
  'storage/has-files',
  `SELECT EXISTS (SELECT FROM files) OR EXISTS (SELECT FROM avatars)
  OR EXISTS (SELECT FROM account_exports WHERE blob_key IS NOT NULL) AS has_files`,
  [],
  { reads: true },
)
export interface HasFilesRow {
  has_files: boolean
}

/**
 * Makes a folder, and those in it, invisible for a job that deletes them. Returns the number of its files.
 * @see prisma/sql/storage/hide-folder.sql
 */
export const hideFolder = one<{ job_id: string; workspace_id: string; id: string; path: string }, HideFolderRow>(
  'storage/hide-folder',
  `WITH hidden AS (
  UPDATE folders d SET deleted_at = now(), deletion_job_id = $1
  WHERE d.workspace_id = $2 AND d.deleted_at IS NULL
    AND (d.id = $3 OR starts_with(d.path, $4 || '/'))
  RETURNING d.id
)
SELECT count(f.id) AS "files"
FROM hidden LEFT JOIN files f ON f.folder_id = hidden.id AND f.trashed_at IS NULL`,
  ['job_id', 'workspace_id', 'id', 'path'],
)
export interface HideFolderRow {
  files: number
}

/**
 * Inserts entries of an archive, numbered from `first`.
 * @see prisma/sql/storage/insert-archive-entries.sql
 */
export const insertArchiveEntries = none<{ archive_id: string; first: number; file_ids: readonly string[]; blob_keys: readonly string[]; names: readonly string[]; sizes: readonly number[]; times: readonly (Date | string)[]; offsets: readonly number[]; central_offsets: readonly number[] }>(
  'storage/insert-archive-entries',
  `INSERT INTO archive_entries (archive_id, number, file_id, blob_key, name, bytes, modified_at, "offset",
  central_offset)
SELECT $1, $2::int + e.n::int - 1, e.file_id, e.blob_key, e.name, e.bytes, e.modified_at,
  e.place, e.central
FROM unnest($3::text[], $4::text[], $5::text[], $6::bigint[], $7::timestamptz[],
  $8::bigint[], $9::bigint[])
  WITH ORDINALITY AS e(file_id, blob_key, name, bytes, modified_at, place, central, n)`,
  ['archive_id', 'first', 'file_ids', 'blob_keys', 'names', 'sizes', 'times', 'offsets', 'central_offsets'],
)

/**
 * Inserts an archive. `directory`: where the directory of its ZIP begins.
 * @see prisma/sql/storage/insert-archive.sql
 */
export const insertArchive = one<{ id: string; project_id: string | null; owner_id: string; name: string; files: number; directory: number; bytes: number; created_at: Date | string; expires_at: Date | string }, InsertArchiveRow>(
  'storage/insert-archive',
  `WITH a AS (
  INSERT INTO archives (id, project_id, owner_id, name, files, directory, bytes, created_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  RETURNING *
)
SELECT a.id, a.name, a.files, a.bytes, a.owner_id AS created_by, a.expires_at, a.created_at, a.project_id FROM a`,
  ['id', 'project_id', 'owner_id', 'name', 'files', 'directory', 'bytes', 'created_at', 'expires_at'],
)
export interface InsertArchiveRow {
  id: string
  name: string
  files: number
  bytes: number
  created_by: string
  expires_at: string
  created_at: string
  project_id: string | null
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
 * Inserts a file whose blob is stored. Does not check the quota.
 * @see prisma/sql/storage/insert-file.sql
 */
export const insertFile = one<{ id: string; project_id: string | null; owner_id: string; name: string; folder_id: string | null; content_type: string; declared_content_type: string | null; bytes: number; sha256: string; visibility: 'private' | 'public'; metadata: object | string; tags: readonly string[]; expires_at: Date | string | null; blob_key: string; created_at: Date | string }, InsertFileRow>(
  'storage/insert-file',
  `WITH f AS (
  INSERT INTO files (id, project_id, owner_id, workspace_id, name, folder_id, content_type,
    declared_content_type, bytes, sha256, visibility, metadata, tags, expires_at, blob_key, created_at,
    updated_at)
  VALUES ($1, $2, $3, coalesce($2, $3), $4, $5, $6,
    $7, $8, $9, $10, $11, $12, $13, $14,
    $15, $15)
  RETURNING *
)
SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id FROM f`,
  ['id', 'project_id', 'owner_id', 'name', 'folder_id', 'content_type', 'declared_content_type', 'bytes', 'sha256', 'visibility', 'metadata', 'tags', 'expires_at', 'blob_key', 'created_at'],
)
export interface InsertFileRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * Inserts a folder. Does not check the limit.
 * @see prisma/sql/storage/insert-folder.sql
 */
export const insertFolder = one<{ id: string; project_id: string | null; owner_id: string; parent_id: string | null; name: string; path: string; metadata: object | string; created_at: Date | string }, InsertFolderRow>(
  'storage/insert-folder',
  `WITH d AS (
  INSERT INTO folders
    (id, project_id, owner_id, workspace_id, parent_id, name, path, metadata, created_at, updated_at)
  VALUES ($1, $2, $3, coalesce($2, $3), $4, $5, $6,
    $7, $8, $8)
  RETURNING *
)
SELECT d.id, d.parent_id, d.name, d.path, d.metadata, d.owner_id AS created_by, d.created_at,
d.updated_at, d.project_id FROM d`,
  ['id', 'project_id', 'owner_id', 'parent_id', 'name', 'path', 'metadata', 'created_at'],
)
export interface InsertFolderRow {
  id: string
  parent_id: string | null
  name: string
  path: string
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
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
      LEFT JOIN users creator ON creator.id = c.user_id
    WHERE g.id = l.file_id AND (g.project_id IS NULL
      OR (c.storage_role <= 'editor' AND c.created_at <= l.created_at AND creator.status = 'active'))
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
 * Shares a folder. Without a row, the folder is shared with the address already.
 * @see prisma/sql/storage/insert-share.sql
 */
export const insertShare = optional<{ id: string; folder_id: string; project_id: string | null; owner_id: string; email: string; role: 'owner' | 'admin' | 'editor' | 'viewer'; expires_at: Date | string | null; created_at: Date | string }, InsertShareRow>(
  'storage/insert-share',
  `WITH s AS (
  INSERT INTO folder_shares (id, folder_id, project_id, owner_id, email, role, expires_at, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
  ON CONFLICT (folder_id, email) DO NOTHING
  RETURNING *
)
SELECT s.id, s.folder_id,
(SELECT its_folder.name FROM folders its_folder WHERE its_folder.id = s.folder_id) AS "folder_name",
s.project_id, s.email, s.role, CASE WHEN NOT EXISTS (
    SELECT FROM users creator
      LEFT JOIN members c ON c.project_id = s.project_id AND c.user_id = creator.id
    WHERE creator.id = s.owner_id AND creator.status = 'active'
      AND (s.project_id IS NULL OR (c.storage_role <= 'editor' AND c.created_at <= s.created_at))
  ) THEN 'ended'
  WHEN s.expires_at <= now() THEN 'expired' ELSE 'active' END AS status, s.owner_id AS created_by,
(SELECT its_owner.name FROM users its_owner WHERE its_owner.id = s.owner_id) AS "created_by_name",
s.expires_at, s.created_at FROM s`,
  ['id', 'folder_id', 'project_id', 'owner_id', 'email', 'role', 'expires_at', 'created_at'],
)
export interface InsertShareRow {
  id: string
  folder_id: string
  folder_name: string
  project_id: string | null
  email: string
  role: Schemas['Share']['role']
  status: Schemas['Share']['status']
  created_by: string
  created_by_name: string
  expires_at: string | null
  created_at: string
}

/**
 * Inserts an upload link. `digest` is the SHA-256 of its token.
 * @see prisma/sql/storage/insert-upload-link.sql
 */
export const insertUploadLink = one<{ id: string; project_id: string | null; owner_id: string; digest: Buffer; path: string; title: string | null; max_bytes: number | null; content_types: readonly string[]; max_files: number | null; metadata: object | string; expires_at: Date | string; created_at: Date | string }, InsertUploadLinkRow>(
  'storage/insert-upload-link',
  `WITH l AS (
  INSERT INTO upload_links (id, project_id, owner_id, workspace_id, digest, path, title, max_bytes,
    content_types, max_files, metadata, expires_at, created_at)
  VALUES ($1, $2, $3, coalesce($2, $3), $4, $5, $6,
    $7, $8, $9, $10, $11, $12)
  RETURNING *
)
SELECT l.id, l.path, l.title, CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM users creator
      LEFT JOIN members c ON c.project_id = l.project_id AND c.user_id = creator.id
    WHERE creator.id = l.owner_id AND creator.status = 'active'
      AND (l.project_id IS NULL OR (c.storage_role <= 'editor' AND c.created_at <= l.created_at))
  ) THEN 'revoked'
  WHEN l.file_count >= l.max_files THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END AS status, l.max_bytes, l.content_types,
l.max_files, l.file_count, l.owner_id AS created_by, l.expires_at, l.metadata, l.created_at, l.updated_at, l.project_id FROM l`,
  ['id', 'project_id', 'owner_id', 'digest', 'path', 'title', 'max_bytes', 'content_types', 'max_files', 'metadata', 'expires_at', 'created_at'],
)
export interface InsertUploadLinkRow {
  id: string
  path: string
  title: string | null
  status: Schemas['UploadLink']['status']
  max_bytes: number | null
  content_types: string[]
  max_files: number | null
  file_count: number
  created_by: string
  expires_at: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * Inserts an upload. Does not check the quota.
 * @see prisma/sql/storage/insert-upload.sql
 */
export const insertUpload = one<{ id: string; project_id: string | null; user_id: string; upload_link_id: string | null; name: string; path: string; folder_id: string | null; declared_content_type: string | null; visibility: 'private' | 'public'; metadata: object | string; tags: readonly string[]; file_expires_at: Date | string | null; sha256: string | null; on_conflict: 'duplicate' | 'fail' | 'rename' | 'replace'; raw_metadata: string; length: number; created_at: Date | string; expires_at: Date | string }, InsertUploadRow>(
  'storage/insert-upload',
  `WITH u AS (
  INSERT INTO uploads (id, project_id, user_id, workspace_id, upload_link_id, name, path, folder_id,
    declared_content_type, visibility,
    metadata, tags, file_expires_at, sha256, on_conflict, raw_metadata, length, created_at, expires_at)
  VALUES ($1, $2, $3, coalesce($2, $3), $4,
    $5, $6, $7, $8, $9, $10, $11, $12,
    $13, $14, $15, $16, $17, $18)
  RETURNING *
)
SELECT u.id, u.project_id, u.file_id, u.name, u.length,
CASE WHEN u.file_id IS NULL THEN greatest(0, least(u.received, u.length - 1)) ELSE u.length END AS offset,
u.received, coalesce(u.temp_name, u.id) AS temp_name, u.holder, u.expires_at, u.created_at, u.updated_at,
u.user_id, u.user_id AS created_by, u.path, u.folder_id, u.declared_content_type, u.visibility,
u.metadata, u.tags, u.file_expires_at, u.sha256, u.on_conflict, u.raw_metadata, u.multipart FROM u`,
  ['id', 'project_id', 'user_id', 'upload_link_id', 'name', 'path', 'folder_id', 'declared_content_type', 'visibility', 'metadata', 'tags', 'file_expires_at', 'sha256', 'on_conflict', 'raw_metadata', 'length', 'created_at', 'expires_at'],
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
  folder_id: string | null
  declared_content_type: string | null
  visibility: 'private' | 'public'
  metadata: Record<string, string>
  tags: string[]
  file_expires_at: string | null
  sha256: string | null
  on_conflict: 'duplicate' | 'fail' | 'rename' | 'replace'
  raw_metadata: string
  multipart: { key: string, id: string, part_size: number, etags: string[], tail: string | null } | null
}

/**
 * Whether a file in the folder has the name. The file `besides` does not count.
 * @see prisma/sql/storage/is-name-taken.sql
 */
export const isNameTaken = one<{ workspace_id: string; folder_id: string | null; name: string; besides: string }, IsNameTakenRow>(
  'storage/is-name-taken',
  `SELECT EXISTS (
  SELECT FROM files f
  WHERE f.workspace_id = $1 AND coalesce(f.folder_id, '') = coalesce($2, '') AND (hashtextextended(normalize(f.name, NFC), 0) = hashtextextended(normalize($3, NFC), 0)
  AND normalize(f.name, NFC) = normalize($3, NFC))
    AND f.id <> $4 AND ((f.expires_at IS NULL OR f.expires_at > now()) AND f.trashed_at IS NULL AND (f.folder_id IS NULL OR (SELECT gone.deleted_at FROM folders gone WHERE gone.id = f.folder_id) IS NULL))
) AS is_taken`,
  ['workspace_id', 'folder_id', 'name', 'besides'],
  { reads: true },
)
export interface IsNameTakenRow {
  is_taken: boolean
}

/**
 * The links of the files of a workspace, or of all files whose links a user can read.
 * @see prisma/sql/storage/list-all-links.sql
 */
export const listAllLinks = page<{}, { reader: string; least_role: 'owner' | 'admin' | 'editor' | 'viewer'; key_projects: readonly string[] | null; own: string | null; workspace_id: string; organization_id: string; created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; file_id: string; status: readonly string[]; created_by: string }, 'created_at' | 'expires_at' | 'updated_at', ListAllLinksRow>(
  'storage/list-all-links',
  {
    select: `SELECT l.id, l.file_id, f.project_id, CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM files g LEFT JOIN members c ON c.project_id = g.project_id AND c.user_id = l.created_by
      LEFT JOIN users creator ON creator.id = c.user_id
    WHERE g.id = l.file_id AND (g.project_id IS NULL
      OR (c.storage_role <= 'editor' AND c.created_at <= l.created_at AND creator.status = 'active'))
  ) THEN 'revoked'
  WHEN l.download_count >= l.max_downloads THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END AS status, l.max_downloads, l.download_count, l.created_by,
l.expires_at, l.metadata, l.created_at, l.updated_at
FROM file_links l JOIN files f ON f.id = l.file_id
WHERE ((f.expires_at IS NULL OR f.expires_at > now()) AND f.trashed_at IS NULL AND (f.folder_id IS NULL OR (SELECT gone.deleted_at FROM folders gone WHERE gone.id = f.folder_id) IS NULL))`,
    names: ['reader', 'least_role', 'key_projects', 'own', 'workspace_id', 'organization_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'file_id', 'status', 'created_by'],
    filters: {
      reader: { sql: `f.workspace_id IN (
  SELECT my.project_id FROM members my
  WHERE my.user_id = $1 AND my.project_status <> 'deleted' AND my.storage_role <= $2::"MemberRole"
    AND ($3::text[] IS NULL OR my.project_id = ANY($3))
  UNION ALL SELECT $4::text)`, otherwise: `f.workspace_id = $5`, searches: true },
      organization_id: { sql: `f.project_id IN (SELECT its.id FROM projects its WHERE its.organization_id = $6)`, searches: true },
      created_after: { sql: `l.created_at >= $7`, searches: true },
      created_before: { sql: `l.created_at < $8`, searches: true },
      updated_after: { sql: `l.updated_at >= $9`, searches: true },
      updated_before: { sql: `l.updated_at < $10`, searches: true },
      metadata: { sql: `l.metadata <> '{}' AND l.metadata @> $11::jsonb`, searches: true },
      file_id: { sql: `l.file_id = $12`, searches: true },
      status: { sql: `CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM files g LEFT JOIN members c ON c.project_id = g.project_id AND c.user_id = l.created_by
      LEFT JOIN users creator ON creator.id = c.user_id
    WHERE g.id = l.file_id AND (g.project_id IS NULL
      OR (c.storage_role <= 'editor' AND c.created_at <= l.created_at AND creator.status = 'active'))
  ) THEN 'revoked'
  WHEN l.download_count >= l.max_downloads THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END = ANY($13)` },
      created_by: { sql: `l.created_by = $14`, searches: true },
    },
    sorts: {
      created_at: `l.created_at`,
      expires_at: `l.expires_at`,
      updated_at: `l.updated_at`,
    },
    id: `l.id`,
    totals: {
    },
  },
)
export interface ListAllLinksRow {
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
 * A page of the entries of an archive after one, or from a place in the archive or in its directory on.
 * `is_there`: whether the file is still visible in the workspace of the archive.
 * @see prisma/sql/storage/list-archive-entries.sql
 */
export const listArchiveEntries = many<{ archive_id: string; after: number; offset: number | null; central: number | null; limit: number }, ListArchiveEntriesRow>(
  'storage/list-archive-entries',
  `SELECT e.number, e.file_id, e.blob_key, e.name, e.bytes, e.modified_at, e."offset", e.central_offset,
  e.crc32, EXISTS (
    SELECT FROM files f JOIN archives a ON a.id = e.archive_id
    WHERE f.id = e.file_id AND f.workspace_id = coalesce(a.project_id, a.owner_id) AND ((f.expires_at IS NULL OR f.expires_at > now()) AND f.trashed_at IS NULL AND (f.folder_id IS NULL OR (SELECT gone.deleted_at FROM folders gone WHERE gone.id = f.folder_id) IS NULL))
  ) AS is_there
FROM archive_entries e
WHERE e.archive_id = $1 AND e.number > $2
  AND ($3::bigint IS NULL OR e.number >= (
    SELECT max(b.number) FROM archive_entries b
    WHERE b.archive_id = $1 AND b."offset" <= $3))
  AND ($4::bigint IS NULL OR e.number >= (
    SELECT max(b.number) FROM archive_entries b
    WHERE b.archive_id = $1 AND b.central_offset <= $4))
ORDER BY e.number LIMIT $5`,
  ['archive_id', 'after', 'offset', 'central', 'limit'],
  { reads: true },
)
export interface ListArchiveEntriesRow {
  number: number
  file_id: string
  blob_key: string
  name: string
  bytes: number
  modified_at: string
  offset: number
  central_offset: number
  crc32: number | null
  is_there: boolean
}

/**
 * The blobs of avatars in the order of their ids, those after an id.
 * @see prisma/sql/storage/list-avatar-blobs.sql
 */
export const listAvatarBlobs = many<{ before: Date | string; after: string; limit: number }, ListAvatarBlobsRow>(
  'storage/list-avatar-blobs',
  `SELECT a.id, a.variants, a.updated_at < $1 AS is_counted
FROM avatars a WHERE a.id > $2 ORDER BY a.id LIMIT $3`,
  ['before', 'after', 'limit'],
  { reads: true },
)
export interface ListAvatarBlobsRow {
  id: string
  variants: Schemas['AvatarVariant'][]
  is_counted: boolean
}

/**
 * Other blobs with the same bytes, by their rows.
 * @see prisma/sql/storage/list-blobs-with-content.sql
 */
export const listBlobsWithContent = many<{ sha256: string; bytes: number; key: string }, ListBlobsWithContentRow>(
  'storage/list-blobs-with-content',
  `SELECT DISTINCT r.blob_key AS "key" FROM (SELECT blob_key, bytes, sha256, coalesce(content_updated_at, created_at) AS since FROM files
  UNION ALL SELECT blob_key, bytes, sha256, created_at FROM file_versions) r
WHERE r.sha256 = $1 AND r.bytes = $2 AND r.blob_key <> $3 LIMIT 20`,
  ['sha256', 'bytes', 'key'],
  { reads: true },
)
export interface ListBlobsWithContentRow {
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
  { reads: true },
)
export interface ListExpiredFilesRow {
  id: string
  expires_at: string
}

/**
 * The blobs of exports in the order of their keys, those after a key.
 * @see prisma/sql/storage/list-export-blobs.sql
 */
export const listExportBlobs = many<{ before: Date | string; after: string; limit: number }, ListExportBlobsRow>(
  'storage/list-export-blobs',
  `SELECT e.blob_key AS "key", e.bytes AS "bytes", e.completed_at < $1 AS "is_counted"
FROM account_exports e WHERE e.blob_key > $2 ORDER BY e.blob_key LIMIT $3`,
  ['before', 'after', 'limit'],
  { reads: true },
)
export interface ListExportBlobsRow {
  key: string
  bytes: number
  is_counted: boolean
}

/**
 * The blobs of files and of their versions in the order of their keys, those after a key.
 * @see prisma/sql/storage/list-file-blobs.sql
 */
export const listFileBlobs = many<{ before: Date | string; after: string; limit: number }, ListFileBlobsRow>(
  'storage/list-file-blobs',
  `SELECT DISTINCT ON (f.blob_key) f.blob_key AS "key", f.bytes AS "bytes",
  EXISTS (SELECT FROM (SELECT blob_key, bytes, sha256, coalesce(content_updated_at, created_at) AS since FROM files
  UNION ALL SELECT blob_key, bytes, sha256, created_at FROM file_versions) r WHERE r.blob_key = f.blob_key AND r.since < $1) AS is_counted
FROM (
  (SELECT blob_key, bytes FROM files WHERE blob_key > $2 ORDER BY blob_key LIMIT $3)
  UNION ALL
  (SELECT blob_key, bytes FROM file_versions WHERE blob_key > $2 ORDER BY blob_key LIMIT $3)
) f ORDER BY f.blob_key LIMIT $3`,
  ['before', 'after', 'limit'],
  { reads: true },
)
export interface ListFileBlobsRow {
  key: string
  bytes: number
  is_counted: boolean
}

/**
 * The files for an archive: those with the ids, or those of a folder and its subfolders, by path and name.
 * @see prisma/sql/storage/list-files-for-archive.sql
 */
export const listFilesForArchive = many<{ workspace_id: string; ids: readonly string[] | null; path: string; limit: number }, ListFilesForArchiveRow>(
  'storage/list-files-for-archive',
  `SELECT f.id, f.name, coalesce(d.path, '') AS "path", f.bytes, f.blob_key,
  coalesce(f.content_updated_at, f.created_at) AS "modified_at"
FROM files f LEFT JOIN folders d ON d.id = f.folder_id
WHERE f.workspace_id = $1 AND ((f.expires_at IS NULL OR f.expires_at > now()) AND f.trashed_at IS NULL AND (f.folder_id IS NULL OR (SELECT gone.deleted_at FROM folders gone WHERE gone.id = f.folder_id) IS NULL))
  AND ($2::text[] IS NULL OR f.id = ANY($2))
  AND ($3 = '' OR $2 IS NOT NULL OR d.path = $3 OR starts_with(d.path, $3 || '/'))
ORDER BY coalesce(d.path, '') COLLATE "C", f.name COLLATE "C", f.id
LIMIT $4`,
  ['workspace_id', 'ids', 'path', 'limit'],
  { searches: true },
)
export interface ListFilesForArchiveRow {
  id: string
  name: string
  path: string
  bytes: number
  blob_key: string
  modified_at: string
}

/**
 * The files in a folder, by name: those after a place.
 * @see prisma/sql/storage/list-files-of-folder.sql
 */
export const listFilesOfFolder = many<{ workspace_id: string; folder_id: string; after_name: string; after_id: string; limit: number }, ListFilesOfFolderRow>(
  'storage/list-files-of-folder',
  `SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id, lower(f.name) AS "sort_name"
FROM files f
WHERE f.workspace_id = $1 AND f.folder_id = $2 AND ((f.expires_at IS NULL OR f.expires_at > now()) AND f.trashed_at IS NULL AND (f.folder_id IS NULL OR (SELECT gone.deleted_at FROM folders gone WHERE gone.id = f.folder_id) IS NULL))
  AND (lower(f.name), f.id) > ($3, $4)
ORDER BY lower(f.name), f.id LIMIT $5`,
  ['workspace_id', 'folder_id', 'after_name', 'after_id', 'limit'],
  { reads: true },
)
export interface ListFilesOfFolderRow {
  id: string
  name: string
  folder_id: string
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
  sort_name: string
}

/**
 * The files at the root of a workspace, by name: those after a place.
 * @see prisma/sql/storage/list-files-of-root.sql
 */
export const listFilesOfRoot = many<{ workspace_id: string; after_name: string; after_id: string; limit: number }, ListFilesOfRootRow>(
  'storage/list-files-of-root',
  `SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id, lower(f.name) AS "sort_name"
FROM files f
WHERE f.workspace_id = $1 AND f.folder_id IS NULL AND ((f.expires_at IS NULL OR f.expires_at > now()) AND f.trashed_at IS NULL AND (f.folder_id IS NULL OR (SELECT gone.deleted_at FROM folders gone WHERE gone.id = f.folder_id) IS NULL))
  AND (lower(f.name), f.id) > ($2, $3)
ORDER BY lower(f.name), f.id LIMIT $4`,
  ['workspace_id', 'after_name', 'after_id', 'limit'],
  { reads: true },
)
export interface ListFilesOfRootRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
  sort_name: string
}

/**
 * The files of a workspace, or of all that a user can read. TypeIDs sort by creation time. The total without
 * filters is the maintained count, minus files in the trash, expired files that are not deleted yet, and
 * those of folders that are being deleted.
 * @see prisma/sql/storage/list-files.sql
 */
export const listFiles = page<{}, { reader: string; least_role: 'owner' | 'admin' | 'editor' | 'viewer'; key_projects: readonly string[] | null; own: string | null; workspace_id: string; organization_id: string; created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; content_type_pattern: string; visibility: readonly ('private' | 'public')[]; tag: string; path: string; folder: string; in_root: boolean; folder_id: string; name: string; name_pattern: string; without_purposes: readonly string[]; created_by: string }, 'created_at' | 'name' | 'bytes' | 'updated_at', ListFilesRow>(
  'storage/list-files',
  {
    select: `SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id
FROM files f
WHERE ((f.expires_at IS NULL OR f.expires_at > now()) AND f.trashed_at IS NULL AND (f.folder_id IS NULL OR (SELECT gone.deleted_at FROM folders gone WHERE gone.id = f.folder_id) IS NULL))`,
    names: ['reader', 'least_role', 'key_projects', 'own', 'workspace_id', 'organization_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'content_type_pattern', 'visibility', 'tag', 'path', 'folder', 'in_root', 'folder_id', 'name', 'name_pattern', 'without_purposes', 'created_by'],
    filters: {
      reader: { sql: `f.workspace_id IN (
  SELECT my.project_id FROM members my
  WHERE my.user_id = $1 AND my.project_status <> 'deleted' AND my.storage_role <= $2::"MemberRole"
    AND ($3::text[] IS NULL OR my.project_id = ANY($3))
  UNION ALL SELECT $4::text)`, otherwise: `f.workspace_id = $5`, searches: true },
      organization_id: { sql: `f.project_id IN (SELECT its.id FROM projects its WHERE its.organization_id = $6)`, searches: true },
      created_after: { sql: `f.id >= id_at('file', $7)`, searches: true },
      created_before: { sql: `f.id < id_at('file', $8)`, searches: true },
      updated_after: { sql: `f.updated_at >= $9`, searches: true },
      updated_before: { sql: `f.updated_at < $10`, searches: true },
      metadata: { sql: `f.metadata <> '{}' AND f.metadata @> $11::jsonb`, searches: true },
      content_type_pattern: { sql: `f.content_type COLLATE "C" LIKE $12`, searches: true },
      visibility: { sql: `f.visibility = ANY($13)`, searches: true },
      tag: { sql: `f.tags @> ARRAY[$14]::text[]`, searches: true },
      path: { sql: `EXISTS (SELECT FROM folders d WHERE d.id = f.folder_id AND d.workspace_id = f.workspace_id
  AND (d.path = normalize($15, NFC) OR starts_with(d.path, normalize($15, NFC) || '/')))`, searches: true },
      folder: { sql: `EXISTS (SELECT FROM folders d WHERE d.id = f.folder_id AND d.workspace_id = f.workspace_id
  AND md5(d.path) = md5(normalize($16, NFC)) AND d.path = normalize($16, NFC))`, searches: true },
      in_root: { sql: `f.folder_id IS NULL AND $17`, searches: true },
      folder_id: { sql: `f.folder_id = $18`, searches: true },
      name: { sql: `(hashtextextended(normalize(f.name, NFC), 0) = hashtextextended(normalize($19, NFC), 0)
  AND normalize(f.name, NFC) = normalize($19, NFC))`, searches: true },
      name_pattern: { sql: `lower(f.name) LIKE lower($20)`, searches: true },
      without_purposes: { sql: `NOT coalesce(f.metadata ->> 'purpose' = ANY($21), false)` },
      created_by: { sql: `f.owner_id = $22` },
    },
    sorts: {
      created_at: `f.id`,
      name: `lower(f.name)`,
      bytes: `f.bytes`,
      updated_at: `f.updated_at`,
    },
    id: `f.id`,
    totals: {
      '': `SELECT coalesce((SELECT files - trashed_files FROM storage_usage WHERE workspace_id = $5), 0)
  - (SELECT count(*) FROM files f
     WHERE f.workspace_id = $5 AND f.expires_at <= now() AND f.trashed_at IS NULL
       AND (f.folder_id IS NULL OR (SELECT gone.deleted_at FROM folders gone WHERE gone.id = f.folder_id) IS NULL))
  - (SELECT coalesce(sum(j.total - j.done), 0)::bigint FROM tracked_jobs j
     WHERE j.workspace_id = $5 AND j.status IN ('queued', 'running')
       AND j.type = 'folder_delete') AS total`,
    },
  },
)
export interface ListFilesRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * The folders in a folder, or at the root, by name: those after a place. `folders_name_idx` has the first 255
 * characters of a name.
 * @see prisma/sql/storage/list-folders-of-level.sql
 */
export const listFoldersOfLevel = many<{ workspace_id: string; folder_id: string | null; after_name: string; after_id: string; limit: number }, ListFoldersOfLevelRow>(
  'storage/list-folders-of-level',
  `SELECT d.id, d.parent_id, d.name, d.path, d.metadata, d.owner_id AS created_by, d.created_at,
d.updated_at, d.project_id, left(lower(d.name), 255) AS "sort_name"
FROM folders d
WHERE d.workspace_id = $1 AND d.deleted_at IS NULL AND d.parent_id IS NOT DISTINCT FROM $2
  AND (left(lower(d.name), 255), d.id) > ($3, $4)
ORDER BY left(lower(d.name), 255), d.id LIMIT $5`,
  ['workspace_id', 'folder_id', 'after_name', 'after_id', 'limit'],
  { reads: true },
)
export interface ListFoldersOfLevelRow {
  id: string
  parent_id: string | null
  name: string
  path: string
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  sort_name: string
}

/**
 * The folders of a workspace, or of all that a user can read. The sort by name reads as much of the names as
 * `folders_name_idx`.
 * @see prisma/sql/storage/list-folders.sql
 */
export const listFolders = page<{}, { reader: string; least_role: 'owner' | 'admin' | 'editor' | 'viewer'; key_projects: readonly string[] | null; own: string | null; workspace_id: string; organization_id: string; created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; in_root: boolean; parent_id: string; name_pattern: string; created_by: string }, 'created_at' | 'name' | 'updated_at', ListFoldersRow>(
  'storage/list-folders',
  {
    select: `SELECT d.id, d.parent_id, d.name, d.path, d.metadata, d.owner_id AS created_by, d.created_at,
d.updated_at, d.project_id
FROM folders d
WHERE d.deleted_at IS NULL`,
    names: ['reader', 'least_role', 'key_projects', 'own', 'workspace_id', 'organization_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'in_root', 'parent_id', 'name_pattern', 'created_by'],
    filters: {
      reader: { sql: `d.workspace_id IN (
  SELECT my.project_id FROM members my
  WHERE my.user_id = $1 AND my.project_status <> 'deleted' AND my.storage_role <= $2::"MemberRole"
    AND ($3::text[] IS NULL OR my.project_id = ANY($3))
  UNION ALL SELECT $4::text)`, otherwise: `d.workspace_id = $5`, searches: true },
      organization_id: { sql: `d.project_id IN (SELECT its.id FROM projects its WHERE its.organization_id = $6)`, searches: true },
      created_after: { sql: `d.created_at >= $7`, searches: true },
      created_before: { sql: `d.created_at < $8`, searches: true },
      updated_after: { sql: `d.updated_at >= $9`, searches: true },
      updated_before: { sql: `d.updated_at < $10`, searches: true },
      metadata: { sql: `d.metadata <> '{}' AND d.metadata @> $11::jsonb`, searches: true },
      in_root: { sql: `d.parent_id IS NULL AND $12` },
      parent_id: { sql: `d.parent_id = $13`, searches: true },
      name_pattern: { sql: `lower(d.name) LIKE lower($14)`, searches: true },
      created_by: { sql: `d.owner_id = $15` },
    },
    sorts: {
      created_at: `d.id`,
      name: `left(lower(d.name), 255)`,
      updated_at: `d.updated_at`,
    },
    id: `d.id`,
    totals: {
    },
  },
)
export interface ListFoldersRow {
  id: string
  parent_id: string | null
  name: string
  path: string
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * The links of a file.
 * @see prisma/sql/storage/list-links.sql
 */
export const listLinks = page<{ file_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; status: readonly string[]; created_by: string }, 'created_at' | 'expires_at' | 'updated_at', ListLinksRow>(
  'storage/list-links',
  {
    select: `SELECT l.id, l.file_id, f.project_id, CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM files g LEFT JOIN members c ON c.project_id = g.project_id AND c.user_id = l.created_by
      LEFT JOIN users creator ON creator.id = c.user_id
    WHERE g.id = l.file_id AND (g.project_id IS NULL
      OR (c.storage_role <= 'editor' AND c.created_at <= l.created_at AND creator.status = 'active'))
  ) THEN 'revoked'
  WHEN l.download_count >= l.max_downloads THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END AS status, l.max_downloads, l.download_count, l.created_by,
l.expires_at, l.metadata, l.created_at, l.updated_at
FROM file_links l JOIN files f ON f.id = l.file_id
WHERE l.file_id = $1`,
    names: ['file_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'status', 'created_by'],
    filters: {
      created_after: { sql: `l.created_at >= $2`, searches: true },
      created_before: { sql: `l.created_at < $3`, searches: true },
      updated_after: { sql: `l.updated_at >= $4`, searches: true },
      updated_before: { sql: `l.updated_at < $5`, searches: true },
      metadata: { sql: `l.metadata <> '{}' AND l.metadata @> $6::jsonb`, searches: true },
      status: { sql: `CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM files g LEFT JOIN members c ON c.project_id = g.project_id AND c.user_id = l.created_by
      LEFT JOIN users creator ON creator.id = c.user_id
    WHERE g.id = l.file_id AND (g.project_id IS NULL
      OR (c.storage_role <= 'editor' AND c.created_at <= l.created_at AND creator.status = 'active'))
  ) THEN 'revoked'
  WHEN l.download_count >= l.max_downloads THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END = ANY($7)` },
      created_by: { sql: `l.created_by = $8` },
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
 * Blobs whose quarantine is over: the sweep found them, and nothing refers to them. In the order of their
 * keys, those after a key. None when another sweep has begun.
 * @see prisma/sql/storage/list-removable-blobs.sql
 */
export const listRemovableBlobs = many<{ sweep_id: string; days: number; after: string; limit: number }, ListRemovableBlobsRow>(
  'storage/list-removable-blobs',
  `SELECT k.key, k.bytes FROM quarantined_blobs k JOIN database_identity i ON i.sweep_id = k.sweep_id
WHERE k.sweep_id = $1
  AND greatest(k.since, i.quarantine_restarted_at) <= now() - make_interval(days => $2)
  AND k.key > $3 AND NOT (EXISTS (SELECT FROM files f WHERE f.blob_key = k.key)
  OR EXISTS (SELECT FROM file_versions n WHERE n.blob_key = k.key)
  OR EXISTS (SELECT FROM avatars a WHERE a.id = split_part(k.key, '-', 1))
  OR EXISTS (SELECT FROM account_exports e WHERE e.blob_key = k.key))
ORDER BY k.key LIMIT $4`,
  ['sweep_id', 'days', 'after', 'limit'],
  { reads: true },
)
export interface ListRemovableBlobsRow {
  key: string
  bytes: number
}

/**
 * The shares that count for a user: those with the verified email address of the user.
 * @see prisma/sql/storage/list-shared-folders.sql
 */
export const listSharedFolders = page<{ user_id: string }, { created_after: Date | string; created_before: Date | string; project_ids: readonly string[] }, 'created_at', ListSharedFoldersRow>(
  'storage/list-shared-folders',
  {
    select: `SELECT s.id, s.folder_id,
(SELECT its_folder.name FROM folders its_folder WHERE its_folder.id = s.folder_id) AS "folder_name",
s.project_id, s.email, s.role, CASE WHEN NOT EXISTS (
    SELECT FROM users creator
      LEFT JOIN members c ON c.project_id = s.project_id AND c.user_id = creator.id
    WHERE creator.id = s.owner_id AND creator.status = 'active'
      AND (s.project_id IS NULL OR (c.storage_role <= 'editor' AND c.created_at <= s.created_at))
  ) THEN 'ended'
  WHEN s.expires_at <= now() THEN 'expired' ELSE 'active' END AS status, s.owner_id AS created_by,
(SELECT its_owner.name FROM users its_owner WHERE its_owner.id = s.owner_id) AS "created_by_name",
s.expires_at, s.created_at
FROM users u JOIN folder_shares s ON s.email = u.email JOIN folders d ON d.id = s.folder_id
  LEFT JOIN projects p ON p.id = s.project_id
WHERE u.id = $1 AND u.email_verified AND d.deleted_at IS NULL AND CASE WHEN NOT EXISTS (
    SELECT FROM users creator
      LEFT JOIN members c ON c.project_id = s.project_id AND c.user_id = creator.id
    WHERE creator.id = s.owner_id AND creator.status = 'active'
      AND (s.project_id IS NULL OR (c.storage_role <= 'editor' AND c.created_at <= s.created_at))
  ) THEN 'ended'
  WHEN s.expires_at <= now() THEN 'expired' ELSE 'active' END = 'active'
  AND (p.id IS NULL OR p.status <> 'deleted')`,
    names: ['user_id', 'created_after', 'created_before', 'project_ids'],
    filters: {
      created_after: { sql: `s.id >= id_at('shr', $2)`, searches: true },
      created_before: { sql: `s.id < id_at('shr', $3)`, searches: true },
      project_ids: { sql: `s.project_id = ANY($4)` },
    },
    sorts: {
      created_at: `s.id`,
    },
    id: `s.id`,
    totals: {
    },
  },
)
export interface ListSharedFoldersRow {
  id: string
  folder_id: string
  folder_name: string
  project_id: string | null
  email: string
  role: Schemas['Share']['role']
  status: Schemas['Share']['status']
  created_by: string
  created_by_name: string
  expires_at: string | null
  created_at: string
}

/**
 * The shares of a folder, or those that a user created.
 * @see prisma/sql/storage/list-shares.sql
 */
export const listShares = page<{}, { created_after: Date | string; created_before: Date | string; folder_id: string; created_by: string }, 'created_at', ListSharesRow>(
  'storage/list-shares',
  {
    select: `SELECT s.id, s.folder_id,
(SELECT its_folder.name FROM folders its_folder WHERE its_folder.id = s.folder_id) AS "folder_name",
s.project_id, s.email, s.role, CASE WHEN NOT EXISTS (
    SELECT FROM users creator
      LEFT JOIN members c ON c.project_id = s.project_id AND c.user_id = creator.id
    WHERE creator.id = s.owner_id AND creator.status = 'active'
      AND (s.project_id IS NULL OR (c.storage_role <= 'editor' AND c.created_at <= s.created_at))
  ) THEN 'ended'
  WHEN s.expires_at <= now() THEN 'expired' ELSE 'active' END AS status, s.owner_id AS created_by,
(SELECT its_owner.name FROM users its_owner WHERE its_owner.id = s.owner_id) AS "created_by_name",
s.expires_at, s.created_at
FROM folder_shares s
WHERE true`,
    names: ['created_after', 'created_before', 'folder_id', 'created_by'],
    filters: {
      created_after: { sql: `s.id >= id_at('shr', $1)`, searches: true },
      created_before: { sql: `s.id < id_at('shr', $2)`, searches: true },
      folder_id: { sql: `s.folder_id = $3`, searches: true },
      created_by: { sql: `s.owner_id = $4`, searches: true },
    },
    sorts: {
      created_at: `s.id`,
    },
    id: `s.id`,
    totals: {
    },
  },
)
export interface ListSharesRow {
  id: string
  folder_id: string
  folder_name: string
  project_id: string | null
  email: string
  role: Schemas['Share']['role']
  status: Schemas['Share']['status']
  created_by: string
  created_by_name: string
  expires_at: string | null
  created_at: string
}

/**
 * The files in the trash of a workspace, or of all that a user can read.
 * @see prisma/sql/storage/list-trash.sql
 */
export const listTrash = page<{}, { reader: string; least_role: 'owner' | 'admin' | 'editor' | 'viewer'; key_projects: readonly string[] | null; own: string | null; workspace_id: string; organization_id: string; created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; name_pattern: string; created_by: string }, 'trashed_at' | 'created_at' | 'name' | 'bytes' | 'updated_at', ListTrashRow>(
  'storage/list-trash',
  {
    select: `SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id
FROM files f
WHERE (f.trashed_at IS NOT NULL AND (f.expires_at IS NULL OR f.expires_at > now()))`,
    names: ['reader', 'least_role', 'key_projects', 'own', 'workspace_id', 'organization_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'name_pattern', 'created_by'],
    filters: {
      reader: { sql: `f.workspace_id IN (
  SELECT my.project_id FROM members my
  WHERE my.user_id = $1 AND my.project_status <> 'deleted' AND my.storage_role <= $2::"MemberRole"
    AND ($3::text[] IS NULL OR my.project_id = ANY($3))
  UNION ALL SELECT $4::text)`, otherwise: `f.workspace_id = $5`, searches: true },
      organization_id: { sql: `f.project_id IN (SELECT its.id FROM projects its WHERE its.organization_id = $6)`, searches: true },
      created_after: { sql: `f.id >= id_at('file', $7)`, searches: true },
      created_before: { sql: `f.id < id_at('file', $8)`, searches: true },
      updated_after: { sql: `f.updated_at >= $9`, searches: true },
      updated_before: { sql: `f.updated_at < $10`, searches: true },
      metadata: { sql: `f.metadata <> '{}' AND f.metadata @> $11::jsonb`, searches: true },
      name_pattern: { sql: `lower(f.name) LIKE lower($12)`, searches: true },
      created_by: { sql: `f.owner_id = $13` },
    },
    sorts: {
      trashed_at: `f.trashed_at`,
      created_at: `f.id`,
      name: `lower(f.name)`,
      bytes: `f.bytes`,
      updated_at: `f.updated_at`,
    },
    id: `f.id`,
    totals: {
    },
  },
)
export interface ListTrashRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string
  purge_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * The keys of multipart uploads in S3 that no unfinished upload uses.
 * @see prisma/sql/storage/list-unused-multiparts.sql
 */
export const listUnusedMultiparts = many<{ keys: readonly string[] }, ListUnusedMultipartsRow>(
  'storage/list-unused-multiparts',
  `SELECT k.key AS "key" FROM unnest($1::text[]) AS k (key)
WHERE NOT EXISTS (SELECT FROM uploads u WHERE u.multipart ->> 'key' = k.key AND u.file_id IS NULL)`,
  ['keys'],
  { reads: true },
)
export interface ListUnusedMultipartsRow {
  key: string
}

/**
 * The partial files and tails that no unfinished upload uses. Their names begin
 * with the id of their upload.
 * @see prisma/sql/storage/list-unused-partial-files.sql
 */
export const listUnusedPartialFiles = many<{ names: readonly string[] }, ListUnusedPartialFilesRow>(
  'storage/list-unused-partial-files',
  `SELECT k.name AS "name" FROM unnest($1::text[]) AS k (name)
WHERE NOT EXISTS (
  SELECT 1 FROM uploads u WHERE u.id = split_part(k.name, '.', 1) AND u.file_id IS NULL
)`,
  ['names'],
  { reads: true },
)
export interface ListUnusedPartialFilesRow {
  name: string
}

/**
 * The upload links of a workspace, or of all workspaces whose links a user can read.
 * @see prisma/sql/storage/list-upload-links.sql
 */
export const listUploadLinks = page<{}, { reader: string; least_role: 'owner' | 'admin' | 'editor' | 'viewer'; key_projects: readonly string[] | null; own: string | null; workspace_id: string; organization_id: string; created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; status: readonly string[]; created_by: string }, 'created_at' | 'expires_at' | 'updated_at', ListUploadLinksRow>(
  'storage/list-upload-links',
  {
    select: `SELECT l.id, l.path, l.title, CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM users creator
      LEFT JOIN members c ON c.project_id = l.project_id AND c.user_id = creator.id
    WHERE creator.id = l.owner_id AND creator.status = 'active'
      AND (l.project_id IS NULL OR (c.storage_role <= 'editor' AND c.created_at <= l.created_at))
  ) THEN 'revoked'
  WHEN l.file_count >= l.max_files THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END AS status, l.max_bytes, l.content_types,
l.max_files, l.file_count, l.owner_id AS created_by, l.expires_at, l.metadata, l.created_at, l.updated_at, l.project_id
FROM upload_links l
WHERE true`,
    names: ['reader', 'least_role', 'key_projects', 'own', 'workspace_id', 'organization_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'status', 'created_by'],
    filters: {
      reader: { sql: `l.workspace_id IN (
  SELECT my.project_id FROM members my
  WHERE my.user_id = $1 AND my.project_status <> 'deleted' AND my.storage_role <= $2::"MemberRole"
    AND ($3::text[] IS NULL OR my.project_id = ANY($3))
  UNION ALL SELECT $4::text)`, otherwise: `l.workspace_id = $5`, searches: true },
      organization_id: { sql: `l.project_id IN (SELECT its.id FROM projects its WHERE its.organization_id = $6)`, searches: true },
      created_after: { sql: `l.id >= id_at('ulk', $7)`, searches: true },
      created_before: { sql: `l.id < id_at('ulk', $8)`, searches: true },
      updated_after: { sql: `l.updated_at >= $9`, searches: true },
      updated_before: { sql: `l.updated_at < $10`, searches: true },
      metadata: { sql: `l.metadata <> '{}' AND l.metadata @> $11::jsonb`, searches: true },
      status: { sql: `CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM users creator
      LEFT JOIN members c ON c.project_id = l.project_id AND c.user_id = creator.id
    WHERE creator.id = l.owner_id AND creator.status = 'active'
      AND (l.project_id IS NULL OR (c.storage_role <= 'editor' AND c.created_at <= l.created_at))
  ) THEN 'revoked'
  WHEN l.file_count >= l.max_files THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END = ANY($12)` },
      created_by: { sql: `l.owner_id = $13`, searches: true },
    },
    sorts: {
      created_at: `l.id`,
      expires_at: `l.expires_at`,
      updated_at: `l.updated_at`,
    },
    id: `l.id`,
    totals: {
    },
  },
)
export interface ListUploadLinksRow {
  id: string
  path: string
  title: string | null
  status: Schemas['UploadLink']['status']
  max_bytes: number | null
  content_types: string[]
  max_files: number | null
  file_count: number
  created_by: string
  expires_at: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * The versions of a file.
 * @see prisma/sql/storage/list-versions.sql
 */
export const listVersions = page<{ file_id: string }, { created_after: Date | string; created_before: Date | string; created_by: string }, 'created_at', ListVersionsRow>(
  'storage/list-versions',
  {
    select: `SELECT v.id, v.file_id, v.number, v.bytes, v.sha256, '"' || v.sha256 || '"' AS etag, v.content_type,
v.declared_content_type, v.created_by, v.created_at, v.replaced_at
FROM file_versions v
WHERE v.file_id = $1`,
    names: ['file_id', 'created_after', 'created_before', 'created_by'],
    filters: {
      created_after: { sql: `v.created_at >= $2`, searches: true },
      created_before: { sql: `v.created_at < $3`, searches: true },
      created_by: { sql: `v.created_by = $4` },
    },
    sorts: {
      created_at: `v.number`,
    },
    id: `v.id`,
    totals: {
      '': `SELECT count(*) AS total FROM file_versions WHERE file_id = $1`,
    },
  },
)
export interface ListVersionsRow {
  id: string
  file_id: string
  number: number
  bytes: number
  sha256: string
  etag: string
  content_type: string
  declared_content_type: string | null
  created_by: string
  created_at: string
  replaced_at: string
}

/**
 * The workspaces whose usage is not what their files and versions come to.
 * @see prisma/sql/storage/list-wrong-usage.sql
 */
export const listWrongUsage = many<{}, ListWrongUsageRow>(
  'storage/list-wrong-usage',
  `SELECT coalesce(u.workspace_id, c.workspace_id) AS "workspace_id"
FROM storage_usage u FULL JOIN (SELECT workspace_id, sum(files)::bigint AS files, sum(bytes)::bigint AS bytes,
    sum(trashed_files)::bigint AS trashed_files, sum(trashed_bytes)::bigint AS trashed_bytes,
    sum(versions)::bigint AS versions, sum(version_bytes)::bigint AS version_bytes
  FROM (
    SELECT workspace_id, count(*) AS files, sum(bytes) AS bytes, count(trashed_at) AS trashed_files,
      coalesce(sum(bytes) FILTER (WHERE trashed_at IS NOT NULL), 0) AS trashed_bytes,
      0 AS versions, 0 AS version_bytes
    FROM files WHERE workspace_id = workspace_id GROUP BY workspace_id
    UNION ALL
    SELECT workspace_id, 0, 0, 0, 0, count(*), sum(bytes)
    FROM file_versions WHERE workspace_id = workspace_id GROUP BY workspace_id
  ) parts GROUP BY workspace_id) c ON c.workspace_id = u.workspace_id
WHERE (coalesce(u.files, 0), coalesce(u.bytes, 0), coalesce(u.trashed_files, 0),
    coalesce(u.trashed_bytes, 0), coalesce(u.versions, 0), coalesce(u.version_bytes, 0))
  IS DISTINCT FROM (coalesce(c.files, 0), coalesce(c.bytes, 0), coalesce(c.trashed_files, 0),
    coalesce(c.trashed_bytes, 0), coalesce(c.versions, 0), coalesce(c.version_bytes, 0))
ORDER BY 1`,
  [],
  { reads: true },
)
export interface ListWrongUsageRow {
  workspace_id: string
}

/**
 * Locks a file for its deletion if it has expired and no other transaction has locked it. The job that
 * deletes a folder counts the files in it.
 * @see prisma/sql/storage/lock-expired-file.sql
 */
export const lockExpiredFile = optional<{ id: string }, LockExpiredFileRow>(
  'storage/lock-expired-file',
  `SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id
FROM files f
WHERE f.id = $1 AND f.expires_at <= now() AND (f.folder_id IS NULL OR (SELECT gone.deleted_at FROM folders gone WHERE gone.id = f.folder_id) IS NULL)
FOR UPDATE OF f SKIP LOCKED`,
  ['id'],
)
export interface LockExpiredFileRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
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
u.user_id, u.user_id AS created_by, u.path, u.folder_id, u.declared_content_type, u.visibility,
u.metadata, u.tags, u.file_expires_at, u.sha256, u.on_conflict, u.raw_metadata, u.multipart FROM uploads u
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
  folder_id: string | null
  declared_content_type: string | null
  visibility: 'private' | 'public'
  metadata: Record<string, string>
  tags: string[]
  file_expires_at: string | null
  sha256: string | null
  on_conflict: 'duplicate' | 'fail' | 'rename' | 'replace'
  raw_metadata: string
  multipart: { key: string, id: string, part_size: number, etags: string[], tail: string | null } | null
}

/**
 * Like `read-file`, but locks the file against other writers, and its project.
 * @see prisma/sql/storage/lock-file.sql
 */
export const lockFile = optional<{ user_id: string | null; id: string }, LockFileRow>(
  'storage/lock-file',
  `SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.blob_key, u.status AS owner_status, f.project_id, f.owner_id,
(locked_member(f.project_id, $1)).storage_role AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = f.project_id FOR SHARE) AS project_status
FROM files f JOIN users u ON u.id = f.owner_id
WHERE f.id = $2 AND ((f.expires_at IS NULL OR f.expires_at > now()) AND f.trashed_at IS NULL AND (f.folder_id IS NULL OR (SELECT gone.deleted_at FROM folders gone WHERE gone.id = f.folder_id) IS NULL))
FOR NO KEY UPDATE OF f`,
  ['user_id', 'id'],
)
export interface LockFileRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
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
 * Locks the files with this folder and name for their deletion, at most `limit`. The file `besides` does not
 * count.
 * @see prisma/sql/storage/lock-files-at-place.sql
 */
export const lockFilesAtPlace = many<{ workspace_id: string; folder_id: string | null; name: string; besides: string; limit: number }, LockFilesAtPlaceRow>(
  'storage/lock-files-at-place',
  `SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id
FROM files f
WHERE f.workspace_id = $1 AND coalesce(f.folder_id, '') = coalesce($2, '') AND (hashtextextended(normalize(f.name, NFC), 0) = hashtextextended(normalize($3, NFC), 0)
  AND normalize(f.name, NFC) = normalize($3, NFC))
  AND f.id <> $4 AND ((f.expires_at IS NULL OR f.expires_at > now()) AND f.trashed_at IS NULL AND (f.folder_id IS NULL OR (SELECT gone.deleted_at FROM folders gone WHERE gone.id = f.folder_id) IS NULL))
ORDER BY f.id LIMIT $5
FOR UPDATE OF f`,
  ['workspace_id', 'folder_id', 'name', 'besides', 'limit'],
)
export interface LockFilesAtPlaceRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * Locks some of the files that are left in the folders that a job deletes.
 * @see prisma/sql/storage/lock-files-of-deletion.sql
 */
export const lockFilesOfDeletion = many<{ job_id: string; limit: number }, LockFilesOfDeletionRow>(
  'storage/lock-files-of-deletion',
  `SELECT f.id
FROM folders d JOIN files f ON f.folder_id = d.id
WHERE d.deletion_job_id = $1 AND f.trashed_at IS NULL
LIMIT $2
FOR NO KEY UPDATE OF f`,
  ['job_id', 'limit'],
)
export interface LockFilesOfDeletionRow {
  id: string
}

/**
 * Like `read-files`, but locks the files against other writers, in the order of their ids.
 * @see prisma/sql/storage/lock-files.sql
 */
export const lockFiles = many<{ user_id: string; ids: readonly string[]; visible: boolean; trashed: boolean }, LockFilesRow>(
  'storage/lock-files',
  `SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.blob_key, u.status AS owner_status, f.project_id, f.owner_id,
(SELECT your_member.storage_role FROM members your_member
 WHERE your_member.project_id = f.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = f.project_id) AS project_status
FROM files f JOIN users u ON u.id = f.owner_id
WHERE f.id = ANY($2)
  AND (($3::boolean AND ((f.expires_at IS NULL OR f.expires_at > now()) AND f.trashed_at IS NULL AND (f.folder_id IS NULL OR (SELECT gone.deleted_at FROM folders gone WHERE gone.id = f.folder_id) IS NULL))) OR ($4::boolean AND (f.trashed_at IS NOT NULL AND (f.expires_at IS NULL OR f.expires_at > now()))))
ORDER BY f.id
FOR NO KEY UPDATE OF f`,
  ['user_id', 'ids', 'visible', 'trashed'],
)
export interface LockFilesRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
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
 * Locks an upload link until the transaction ends. Returns how many uploads by it are in progress (`open`),
 * and how many it may still take (`left`).
 * @see prisma/sql/storage/lock-link-places.sql
 */
export const lockLinkPlaces = one<{ id: string }, LockLinkPlacesRow>(
  'storage/lock-link-places',
  `SELECT (SELECT count(*) FROM uploads o
 WHERE o.upload_link_id = l.id AND o.file_id IS NULL AND o.expires_at > now())::int + (
    SELECT count(*) FROM storage_reservations r WHERE r.workspace_id = l.id AND r.held_until > now()
  )::int AS "open",
  coalesce(l.max_files, 2147483647) - l.file_count AS "left"
FROM upload_links l WHERE l.id = $1
FOR NO KEY UPDATE`,
  ['id'],
)
export interface LockLinkPlacesRow {
  open: number
  left: number
}

/**
 * Locks the unfinished uploads of an upload link until the transaction ends.
 * @see prisma/sql/storage/lock-link-uploads.sql
 */
export const lockLinkUploads = many<{ link_id: string }, LockLinkUploadsRow>(
  'storage/lock-link-uploads',
  `SELECT u.id, u.project_id, u.file_id, u.name, u.length,
CASE WHEN u.file_id IS NULL THEN greatest(0, least(u.received, u.length - 1)) ELSE u.length END AS offset,
u.received, coalesce(u.temp_name, u.id) AS temp_name, u.holder, u.expires_at, u.created_at, u.updated_at,
u.user_id, u.user_id AS created_by, u.path, u.folder_id, u.declared_content_type, u.visibility,
u.metadata, u.tags, u.file_expires_at, u.sha256, u.on_conflict, u.raw_metadata, u.multipart FROM uploads u WHERE u.upload_link_id = $1 AND u.file_id IS NULL
ORDER BY u.id
FOR UPDATE`,
  ['link_id'],
)
export interface LockLinkUploadsRow {
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
  folder_id: string | null
  declared_content_type: string | null
  visibility: 'private' | 'public'
  metadata: Record<string, string>
  tags: string[]
  file_expires_at: string | null
  sha256: string | null
  on_conflict: 'duplicate' | 'fail' | 'rename' | 'replace'
  raw_metadata: string
  multipart: { key: string, id: string, part_size: number, etags: string[], tail: string | null } | null
}

/**
 * Locks projects in the order of their ids, so that their status and members stay as they are.
 * @see prisma/sql/storage/lock-projects.sql
 */
export const lockProjects = many<{ ids: readonly string[] }, LockProjectsRow>(
  'storage/lock-projects',
  `SELECT p.id FROM projects p WHERE p.id = ANY($1) ORDER BY p.id COLLATE "C" FOR SHARE`,
  ['ids'],
)
export interface LockProjectsRow {
  id: string
}

/**
 * Locks some of the files whose time in the trash is over, except those that another transaction has locked.
 * @see prisma/sql/storage/lock-purgeable-files.sql
 */
export const lockPurgeableFiles = many<{ limit: number }, LockPurgeableFilesRow>(
  'storage/lock-purgeable-files',
  `SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id
FROM files f
WHERE f.trashed_at IS NOT NULL AND f.purge_at <= now()
ORDER BY f.purge_at, f.id LIMIT $1
FOR UPDATE OF f SKIP LOCKED`,
  ['limit'],
)
export interface LockPurgeableFilesRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string
  purge_at: string
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * A file that is copied, with the key of its blob. Its lock keeps the row, and so the blob, until the
 * transaction ends.
 * @see prisma/sql/storage/lock-source-file.sql
 */
export const lockSourceFile = optional<{ id: string }, LockSourceFileRow>(
  'storage/lock-source-file',
  `SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id, f.blob_key
FROM files f
WHERE f.id = $1 AND ((f.expires_at IS NULL OR f.expires_at > now()) AND f.trashed_at IS NULL AND (f.folder_id IS NULL OR (SELECT gone.deleted_at FROM folders gone WHERE gone.id = f.folder_id) IS NULL))
FOR SHARE OF f`,
  ['id'],
)
export interface LockSourceFileRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
  blob_key: string
}

/**
 * Makes the transactions that take storage in a workspace wait for each other. `taken`: the bytes of its
 * files and unfinished uploads. `used`: with reservations. `besides` is an upload or reservation that does
 * not count.
 * @see prisma/sql/storage/lock-storage.sql
 */
export const lockStorage = one<{ workspace_id: string; besides: string | null }, LockStorageRow>(
  'storage/lock-storage',
  `SELECT taken AS "taken", used AS "used" FROM lock_storage($1, $2)`,
  ['workspace_id', 'besides'],
)
export interface LockStorageRow {
  taken: number
  used: number
}

/**
 * Locks the storage of workspaces, in the order of the array: see `lock-storage`.
 * @see prisma/sql/storage/lock-storages.sql
 */
export const lockStorages = one<{ workspace_ids: readonly string[] }, LockStoragesRow>(
  'storage/lock-storages',
  `SELECT count(l.used)::int AS "n"
FROM unnest($1::text[]) AS w (id), LATERAL lock_storage(w.id, NULL) l`,
  ['workspace_ids'],
)
export interface LockStoragesRow {
  n: number
}

/**
 * Locks some of the files that came into the trash of a workspace until a time.
 * @see prisma/sql/storage/lock-trash.sql
 */
export const lockTrash = many<{ workspace_id: string; until: Date | string; limit: number }, LockTrashRow>(
  'storage/lock-trash',
  `SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id
FROM files f
WHERE f.workspace_id = $1 AND f.trashed_at <= $2
ORDER BY f.trashed_at, f.id LIMIT $3
FOR UPDATE OF f`,
  ['workspace_id', 'until', 'limit'],
)
export interface LockTrashRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string
  purge_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * Like `lock-file`, for a file in the trash.
 * @see prisma/sql/storage/lock-trashed-file.sql
 */
export const lockTrashedFile = optional<{ user_id: string | null; id: string }, LockTrashedFileRow>(
  'storage/lock-trashed-file',
  `SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.blob_key, u.status AS owner_status, f.project_id, f.owner_id,
(locked_member(f.project_id, $1)).storage_role AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = f.project_id FOR SHARE) AS project_status
FROM files f JOIN users u ON u.id = f.owner_id
WHERE f.id = $2 AND (f.trashed_at IS NOT NULL AND (f.expires_at IS NULL OR f.expires_at > now()))
FOR NO KEY UPDATE OF f`,
  ['user_id', 'id'],
)
export interface LockTrashedFileRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string
  purge_at: string | null
  created_by: string
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
 * Like `read-upload-link`, but locks the link against other writers, and its project.
 * @see prisma/sql/storage/lock-upload-link.sql
 */
export const lockUploadLink = optional<{ user_id: string; id: string }, LockUploadLinkRow>(
  'storage/lock-upload-link',
  `SELECT l.id, l.path, l.title, CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM users creator
      LEFT JOIN members c ON c.project_id = l.project_id AND c.user_id = creator.id
    WHERE creator.id = l.owner_id AND creator.status = 'active'
      AND (l.project_id IS NULL OR (c.storage_role <= 'editor' AND c.created_at <= l.created_at))
  ) THEN 'revoked'
  WHEN l.file_count >= l.max_files THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END AS status, l.max_bytes, l.content_types,
l.max_files, l.file_count, l.owner_id AS created_by, l.expires_at, l.metadata, l.created_at, l.updated_at, l.project_id, l.owner_id,
(locked_member(l.project_id, $1)).storage_role AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = l.project_id FOR SHARE) AS project_status
FROM upload_links l
WHERE l.id = $2
FOR NO KEY UPDATE OF l`,
  ['user_id', 'id'],
)
export interface LockUploadLinkRow {
  id: string
  path: string
  title: string | null
  status: Schemas['UploadLink']['status']
  max_bytes: number | null
  content_types: string[]
  max_files: number | null
  file_count: number
  created_by: string
  expires_at: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * Like `find-upload`, but locks the upload until the transaction ends.
 * @see prisma/sql/storage/lock-upload.sql
 */
export const lockUpload = optional<{ id: string }, LockUploadRow>(
  'storage/lock-upload',
  `SELECT u.id, u.project_id, u.file_id, u.name, u.length,
CASE WHEN u.file_id IS NULL THEN greatest(0, least(u.received, u.length - 1)) ELSE u.length END AS offset,
u.received, coalesce(u.temp_name, u.id) AS temp_name, u.holder, u.expires_at, u.created_at, u.updated_at,
u.user_id, u.user_id AS created_by, u.path, u.folder_id, u.declared_content_type, u.visibility,
u.metadata, u.tags, u.file_expires_at, u.sha256, u.on_conflict, u.raw_metadata, u.multipart, u.expires_at <= now() AS is_expired FROM uploads u WHERE u.id = $1
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
  folder_id: string | null
  declared_content_type: string | null
  visibility: 'private' | 'public'
  metadata: Record<string, string>
  tags: string[]
  file_expires_at: string | null
  sha256: string | null
  on_conflict: 'duplicate' | 'fail' | 'rename' | 'replace'
  raw_metadata: string
  multipart: { key: string, id: string, part_size: number, etags: string[], tail: string | null } | null
  is_expired: boolean
}

/**
 * Locks the usage of a workspace: changes of its files wait.
 * @see prisma/sql/storage/lock-usage.sql
 */
export const lockUsage = none<{ workspace_id: string }>(
  'storage/lock-usage',
  `INSERT INTO storage_usage AS u (workspace_id) VALUES ($1)
ON CONFLICT (workspace_id) DO UPDATE SET files = u.files`,
  ['workspace_id'],
)

/**
 * Like `find-version`, but locks the version against its deletion.
 * @see prisma/sql/storage/lock-version.sql
 */
export const lockVersion = optional<{ id: string; file_id: string }, LockVersionRow>(
  'storage/lock-version',
  `SELECT v.id, v.file_id, v.number, v.bytes, v.sha256, '"' || v.sha256 || '"' AS etag, v.content_type,
v.declared_content_type, v.created_by, v.created_at, v.replaced_at, v.blob_key FROM file_versions v WHERE v.id = $1 AND v.file_id = $2
FOR UPDATE`,
  ['id', 'file_id'],
)
export interface LockVersionRow {
  id: string
  file_id: string
  number: number
  bytes: number
  sha256: string
  etag: string
  content_type: string
  declared_content_type: string | null
  created_by: string
  created_at: string
  replaced_at: string
  blob_key: string
}

/**
 * The characters of the longest path in a folder, with its own.
 * @see prisma/sql/storage/longest-path.sql
 */
export const longestPath = one<{ workspace_id: string; id: string; path: string }, LongestPathRow>(
  'storage/longest-path',
  `SELECT max(char_length(d.path)) AS "length"
FROM folders d
WHERE d.workspace_id = $1 AND d.deleted_at IS NULL
  AND (d.id = $2 OR starts_with(d.path, $3 || '/'))`,
  ['workspace_id', 'id', 'path'],
  { reads: true },
)
export interface LongestPathRow {
  length: number
}

/**
 * Moves a locked file to a workspace and a folder of it. A trigger changes the usage of both workspaces.
 * @see prisma/sql/storage/move-file.sql
 */
export const moveFile = none<{ project_id: string | null; owner_id: string; folder_id: string | null; name: string; id: string }>(
  'storage/move-file',
  `UPDATE files f
SET project_id = $1, owner_id = $2, workspace_id = coalesce($1, $2),
  folder_id = $3, name = $4, updated_at = greatest(now(), updated_at + interval '1 millisecond')
WHERE f.id = $5`,
  ['project_id', 'owner_id', 'folder_id', 'name', 'id'],
)

/**
 * Puts locked files into a folder of their workspace.
 * @see prisma/sql/storage/move-files.sql
 */
export const moveFiles = many<{ folder_id: string | null; ids: readonly string[] }, MoveFilesRow>(
  'storage/move-files',
  `WITH f AS (
  UPDATE files SET folder_id = $1, updated_at = greatest(now(), updated_at + interval '1 millisecond')
  WHERE id = ANY($2)
  RETURNING *
)
SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id FROM f ORDER BY f.id`,
  ['folder_id', 'ids'],
)
export interface MoveFilesRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * Gives a folder another parent or name, and with it the folders in it another path.
 * @see prisma/sql/storage/move-folder.sql
 */
export const moveFolder = none<{ new_path: string; path: string; id: string; name: string; parent_id: string | null; workspace_id: string }>(
  'storage/move-folder',
  `UPDATE folders d
SET path = $1 || substr(d.path, char_length($2) + 1),
  name = CASE WHEN d.id = $3 THEN $4 ELSE d.name END,
  parent_id = CASE WHEN d.id = $3 THEN $5 ELSE d.parent_id END
WHERE d.workspace_id = $6 AND d.deleted_at IS NULL
  AND (d.id = $3 OR starts_with(d.path, $2 || '/'))`,
  ['new_path', 'path', 'id', 'name', 'parent_id', 'workspace_id'],
)

/**
 * Records that a sweep found these blobs, for those that nothing refers to. A blob that is new in the
 * quarantine must be old: the row of a young one may still come.
 * @see prisma/sql/storage/quarantine-blobs.sql
 */
export const quarantineBlobs = one<{ keys: readonly string[]; bytes: readonly number[]; are_old: readonly boolean[]; sweep_id: string }, QuarantineBlobsRow>(
  'storage/quarantine-blobs',
  `WITH found AS (
  SELECT k.key, k.bytes
  FROM unnest($1::text[], $2::bigint[], $3::boolean[]) AS k (key, bytes, is_old)
  WHERE NOT (EXISTS (SELECT FROM files f WHERE f.blob_key = k.key)
  OR EXISTS (SELECT FROM file_versions n WHERE n.blob_key = k.key)
  OR EXISTS (SELECT FROM avatars a WHERE a.id = split_part(k.key, '-', 1))
  OR EXISTS (SELECT FROM account_exports e WHERE e.blob_key = k.key))
    AND (k.is_old OR EXISTS (SELECT FROM quarantined_blobs q WHERE q.key = k.key))
), quarantined AS (
  INSERT INTO quarantined_blobs (key, reason, bytes, sweep_id)
  SELECT key, 'unknown', bytes, $4 FROM found ORDER BY key
  ON CONFLICT (key) DO UPDATE SET bytes = excluded.bytes, sweep_id = excluded.sweep_id
  RETURNING reason, bytes
)
SELECT count(*)::int AS blobs, coalesce(sum(bytes), 0)::bigint AS bytes,
  (count(*) FILTER (WHERE reason = 'unknown'))::int AS unknown
FROM quarantined`,
  ['keys', 'bytes', 'are_old', 'sweep_id'],
)
export interface QuarantineBlobsRow {
  blobs: number
  bytes: number
  unknown: number
}

/**
 * An archive that has not expired, and the caller's access to it.
 * @see prisma/sql/storage/read-archive.sql
 */
export const readArchive = optional<{ user_id: string; id: string }, ReadArchiveRow>(
  'storage/read-archive',
  `SELECT a.id, a.name, a.files, a.bytes, a.owner_id AS created_by, a.expires_at, a.created_at, a.directory, a.project_id, a.owner_id,
(SELECT your_member.storage_role FROM members your_member
 WHERE your_member.project_id = a.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = a.project_id) AS project_status
FROM archives a
WHERE a.id = $2 AND a.expires_at > now()`,
  ['user_id', 'id'],
  { reads: true },
)
export interface ReadArchiveRow {
  id: string
  name: string
  files: number
  bytes: number
  created_by: string
  expires_at: string
  created_at: string
  directory: number
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * A file, the key of its blob, the state of its owner and the caller's access to it.
 * @see prisma/sql/storage/read-file.sql
 */
export const readFile = optional<{ user_id: string | null; id: string }, ReadFileRow>(
  'storage/read-file',
  `SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.blob_key, u.status AS owner_status, f.project_id, f.owner_id,
(SELECT your_member.storage_role FROM members your_member
 WHERE your_member.project_id = f.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = f.project_id) AS project_status
FROM files f JOIN users u ON u.id = f.owner_id
WHERE f.id = $2 AND ((f.expires_at IS NULL OR f.expires_at > now()) AND f.trashed_at IS NULL AND (f.folder_id IS NULL OR (SELECT gone.deleted_at FROM folders gone WHERE gone.id = f.folder_id) IS NULL))`,
  ['user_id', 'id'],
  { reads: true },
)
export interface ReadFileRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
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
 * Files of a batch, each as `read-file` reads one. `visible` and `trashed`: whether these count.
 * @see prisma/sql/storage/read-files.sql
 */
export const readFiles = many<{ user_id: string; ids: readonly string[]; visible: boolean; trashed: boolean }, ReadFilesRow>(
  'storage/read-files',
  `SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.blob_key, u.status AS owner_status, f.project_id, f.owner_id,
(SELECT your_member.storage_role FROM members your_member
 WHERE your_member.project_id = f.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = f.project_id) AS project_status
FROM files f JOIN users u ON u.id = f.owner_id
WHERE f.id = ANY($2)
  AND (($3::boolean AND ((f.expires_at IS NULL OR f.expires_at > now()) AND f.trashed_at IS NULL AND (f.folder_id IS NULL OR (SELECT gone.deleted_at FROM folders gone WHERE gone.id = f.folder_id) IS NULL))) OR ($4::boolean AND (f.trashed_at IS NOT NULL AND (f.expires_at IS NULL OR f.expires_at > now()))))
ORDER BY f.id`,
  ['user_id', 'ids', 'visible', 'trashed'],
  { reads: true },
)
export interface ReadFilesRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
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
 * A folder that is not being deleted, its workspace and the caller's access to it.
 * @see prisma/sql/storage/read-folder.sql
 */
export const readFolder = optional<{ user_id: string; id: string }, ReadFolderRow>(
  'storage/read-folder',
  `SELECT d.id, d.parent_id, d.name, d.path, d.metadata, d.owner_id AS created_by, d.created_at,
d.updated_at, d.workspace_id, d.project_id, d.owner_id,
(SELECT your_member.storage_role FROM members your_member
 WHERE your_member.project_id = d.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = d.project_id) AS project_status
FROM folders d
WHERE d.id = $2 AND d.deleted_at IS NULL`,
  ['user_id', 'id'],
  { reads: true },
)
export interface ReadFolderRow {
  id: string
  parent_id: string | null
  name: string
  path: string
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  workspace_id: string
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * The id of this database, its last sweep, and whether the next sweep is due.
 * @see prisma/sql/storage/read-identity.sql
 */
export const readIdentity = one<{ hours: number }, ReadIdentityRow>(
  'storage/read-identity',
  `SELECT database_id, sweep_id, coalesce(swept_at <= now() - make_interval(hours => $1), true) AS is_due
FROM database_identity`,
  ['hours'],
  { reads: true },
)
export interface ReadIdentityRow {
  database_id: string
  sweep_id: string | null
  is_due: boolean
}

/**
 * Whether an upload is leased.
 * @see prisma/sql/storage/read-is-held.sql
 */
export const readIsHeld = optional<{ id: string }, ReadIsHeldRow>(
  'storage/read-is-held',
  `SELECT coalesce(held_until >= now(), false) AS is_held FROM uploads WHERE id = $1`,
  ['id'],
  { reads: true },
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
  { reads: true },
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
      LEFT JOIN users creator ON creator.id = c.user_id
    WHERE g.id = l.file_id AND (g.project_id IS NULL
      OR (c.storage_role <= 'editor' AND c.created_at <= l.created_at AND creator.status = 'active'))
  ) THEN 'revoked'
  WHEN l.download_count >= l.max_downloads THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END AS status FROM file_links l WHERE l.id = $1`,
  ['id'],
  { reads: true },
)
export interface ReadLinkStatusRow {
  status: Schemas['FileLink']['status']
}

/**
 * Like `read-file`, for a file in the trash.
 * @see prisma/sql/storage/read-trashed-file.sql
 */
export const readTrashedFile = optional<{ user_id: string | null; id: string }, ReadTrashedFileRow>(
  'storage/read-trashed-file',
  `SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.blob_key, u.status AS owner_status, f.project_id, f.owner_id,
(SELECT your_member.storage_role FROM members your_member
 WHERE your_member.project_id = f.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = f.project_id) AS project_status
FROM files f JOIN users u ON u.id = f.owner_id
WHERE f.id = $2 AND (f.trashed_at IS NOT NULL AND (f.expires_at IS NULL OR f.expires_at > now()))`,
  ['user_id', 'id'],
  { reads: true },
)
export interface ReadTrashedFileRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string
  purge_at: string | null
  created_by: string
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
 * An upload link and the caller's access to it.
 * @see prisma/sql/storage/read-upload-link.sql
 */
export const readUploadLink = optional<{ user_id: string; id: string }, ReadUploadLinkRow>(
  'storage/read-upload-link',
  `SELECT l.id, l.path, l.title, CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM users creator
      LEFT JOIN members c ON c.project_id = l.project_id AND c.user_id = creator.id
    WHERE creator.id = l.owner_id AND creator.status = 'active'
      AND (l.project_id IS NULL OR (c.storage_role <= 'editor' AND c.created_at <= l.created_at))
  ) THEN 'revoked'
  WHEN l.file_count >= l.max_files THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END AS status, l.max_bytes, l.content_types,
l.max_files, l.file_count, l.owner_id AS created_by, l.expires_at, l.metadata, l.created_at, l.updated_at, l.project_id, l.owner_id,
(SELECT your_member.storage_role FROM members your_member
 WHERE your_member.project_id = l.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = l.project_id) AS project_status
FROM upload_links l
WHERE l.id = $2`,
  ['user_id', 'id'],
  { reads: true },
)
export interface ReadUploadLinkRow {
  id: string
  path: string
  title: string | null
  status: Schemas['UploadLink']['status']
  max_bytes: number | null
  content_types: string[]
  max_files: number | null
  file_count: number
  created_by: string
  expires_at: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * The storage usage of a workspace. `bytes` includes the trash and the versions. `reserved`: the bytes of
 * unfinished uploads and of uploads in progress.
 * @see prisma/sql/storage/read-usage.sql
 */
export const readUsage = one<{ workspace_id: string }, ReadUsageRow>(
  'storage/read-usage',
  `SELECT coalesce(f.files - f.trashed_files, 0) AS files, coalesce(f.bytes + f.version_bytes, 0) AS bytes,
  coalesce(f.trashed_files, 0) AS trashed_files, coalesce(f.trashed_bytes, 0) AS trashed_bytes,
  coalesce(f.versions, 0) AS versions, coalesce(f.version_bytes, 0) AS version_bytes,
  u.used - coalesce(f.bytes + f.version_bytes, 0) AS "reserved"
FROM storage_use($1, NULL) u LEFT JOIN storage_usage f ON f.workspace_id = $1`,
  ['workspace_id'],
  { reads: true },
)
export interface ReadUsageRow {
  files: number
  bytes: number
  trashed_files: number
  trashed_bytes: number
  versions: number
  version_bytes: number
  reserved: number
}

/**
 * Counts the files and versions of a workspace again. The usage is locked.
 * @see prisma/sql/storage/recount-usage.sql
 */
export const recountUsage = none<{ workspace_id: string }>(
  'storage/recount-usage',
  `UPDATE storage_usage u SET files = coalesce(c.files, 0), bytes = coalesce(c.bytes, 0),
  trashed_files = coalesce(c.trashed_files, 0), trashed_bytes = coalesce(c.trashed_bytes, 0),
  versions = coalesce(c.versions, 0), version_bytes = coalesce(c.version_bytes, 0)
FROM (SELECT 1) one
  LEFT JOIN (SELECT workspace_id, sum(files)::bigint AS files, sum(bytes)::bigint AS bytes,
    sum(trashed_files)::bigint AS trashed_files, sum(trashed_bytes)::bigint AS trashed_bytes,
    sum(versions)::bigint AS versions, sum(version_bytes)::bigint AS version_bytes
  FROM (
    SELECT workspace_id, count(*) AS files, sum(bytes) AS bytes, count(trashed_at) AS trashed_files,
      coalesce(sum(bytes) FILTER (WHERE trashed_at IS NOT NULL), 0) AS trashed_bytes,
      0 AS versions, 0 AS version_bytes
    FROM files WHERE workspace_id = $1 GROUP BY workspace_id
    UNION ALL
    SELECT workspace_id, 0, 0, 0, 0, count(*), sum(bytes)
    FROM file_versions WHERE workspace_id = $1 GROUP BY workspace_id
  ) parts GROUP BY workspace_id) c ON true
WHERE u.workspace_id = $1`,
  ['workspace_id'],
)

/**
 * Takes the blobs out of the quarantine that a complete sweep did not find, or that a row refers to again.
 * None when another sweep has begun.
 * @see prisma/sql/storage/release-blobs.sql
 */
export const releaseBlobs = one<{ sweep_id: string }, ReleaseBlobsRow>(
  'storage/release-blobs',
  `WITH released AS (
  DELETE FROM quarantined_blobs q USING database_identity i
  WHERE i.sweep_id = $1 AND q.sweep_id IS DISTINCT FROM i.sweep_id AND q.since < i.sweep_began_at
  RETURNING 1
)
SELECT count(*)::int AS n FROM released`,
  ['sweep_id'],
)
export interface ReleaseBlobsRow {
  n: number
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
 * Renews a lease. Stores how many bytes are durable, and where they are in S3, unless these are null. No row
 * for a lost lease.
 * @see prisma/sql/storage/renew-lease.sql
 */
export const renewLease = optional<{ lease_seconds: number; received: number | null; multipart: object | string | null; id: string; holder: string }, RenewLeaseRow>(
  'storage/renew-lease',
  `UPDATE uploads
SET held_until = now() + make_interval(secs => $1), received = coalesce($2, received),
  multipart = coalesce($3, multipart)
WHERE id = $4 AND holder = $5
RETURNING coalesce(lease_requested_at > now() - interval '3 seconds', false) AS is_requested`,
  ['lease_seconds', 'received', 'multipart', 'id', 'holder'],
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
 * Gives a locked file another content, whose blob is stored. `is_kept`: whether the present content becomes a
 * version, with the id `version_id`; without one, its blob comes into quarantine.
 * @see prisma/sql/storage/replace-content.sql
 */
export const replaceContent = one<{ version_id: string; id: string; is_kept: boolean; blob_key: string; bytes: number; sha256: string; content_type: string; declared_content_type: string | null; user_id: string }, ReplaceContentRow>(
  'storage/replace-content',
  `WITH kept AS (
  INSERT INTO file_versions (id, file_id, workspace_id, number, blob_key, content_type, declared_content_type,
  bytes, sha256, created_by, created_at, replaced_at)
SELECT $1, o.id, o.workspace_id, o.version, o.blob_key, o.content_type, o.declared_content_type,
  o.bytes, o.sha256, coalesce(o.content_by, o.owner_id), coalesce(o.content_updated_at, o.created_at), now()
FROM files o WHERE o.id = $2 AND $3
), f AS (
  UPDATE files t
  SET blob_key = $4, bytes = $5, sha256 = $6, content_type = $7,
    declared_content_type = $8, version = t.version + 1, content_by = $9,
content_updated_at = greatest(now(), coalesce(t.content_updated_at, t.created_at) + interval '1 millisecond'),
updated_at = greatest(now(), t.updated_at + interval '1 millisecond')
  WHERE t.id = $2
  RETURNING *
)
SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id FROM f`,
  ['version_id', 'id', 'is_kept', 'blob_key', 'bytes', 'sha256', 'content_type', 'declared_content_type', 'user_id'],
)
export interface ReplaceContentRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

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
export const reserveStorage = one<{ id: string; workspace_id: string; least_bytes: number; most_bytes: number; quota: number; seconds: number }, ReserveStorageRow>(
  'storage/reserve-storage',
  `SELECT reserve_storage($1, $2, $3, $4, $5, $6) AS "bytes"`,
  ['id', 'workspace_id', 'least_bytes', 'most_bytes', 'quota', 'seconds'],
)
export interface ReserveStorageRow {
  bytes: number | null
}

/**
 * Makes every blob wait for the whole time of the quarantine again.
 * @see prisma/sql/storage/restart-quarantine.sql
 */
export const restartQuarantine = none<{}>(
  'storage/restart-quarantine',
  `UPDATE database_identity SET quarantine_restarted_at = now()`,
)

/**
 * Takes a file out of the trash, into a folder.
 * @see prisma/sql/storage/restore-file.sql
 */
export const restoreFile = one<{ folder_id: string | null; name: string; id: string }, RestoreFileRow>(
  'storage/restore-file',
  `WITH f AS (
  UPDATE files t
  SET trashed_at = NULL, purge_at = NULL, trashed_by = NULL, trashed_path = NULL, folder_id = $1,
    name = $2, updated_at = greatest(now(), t.updated_at + interval '1 millisecond')
  WHERE t.id = $3
  RETURNING *
)
SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id FROM f`,
  ['folder_id', 'name', 'id'],
)
export interface RestoreFileRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * Takes locked files out of the trash, each into a folder.
 * @see prisma/sql/storage/restore-files.sql
 */
export const restoreFiles = many<{ ids: readonly string[]; folder_ids: readonly (string | null)[] }, RestoreFilesRow>(
  'storage/restore-files',
  `WITH f AS (
  UPDATE files t
  SET trashed_at = NULL, purge_at = NULL, trashed_by = NULL, trashed_path = NULL, folder_id = r.folder_id,
    updated_at = greatest(now(), t.updated_at + interval '1 millisecond')
  FROM unnest($1::text[], $2::text[]) AS r (id, folder_id)
  WHERE t.id = r.id
  RETURNING t.*
)
SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id FROM f ORDER BY f.id`,
  ['ids', 'folder_ids'],
)
export interface RestoreFilesRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * Makes a locked version the content of its locked file, with the same blob. `is_kept`: whether the present
 * content becomes a version, with the id `version_id`; without one, its blob comes into quarantine.
 * @see prisma/sql/storage/restore-version.sql
 */
export const restoreVersion = one<{ restored_id: string; id: string; version_id: string; is_kept: boolean; user_id: string }, RestoreVersionRow>(
  'storage/restore-version',
  `WITH restored AS (
  DELETE FROM file_versions WHERE id = $1 AND file_id = $2 RETURNING *
), kept AS (
  INSERT INTO file_versions (id, file_id, workspace_id, number, blob_key, content_type, declared_content_type,
  bytes, sha256, created_by, created_at, replaced_at)
SELECT $3, o.id, o.workspace_id, o.version, o.blob_key, o.content_type, o.declared_content_type,
  o.bytes, o.sha256, coalesce(o.content_by, o.owner_id), coalesce(o.content_updated_at, o.created_at), now()
FROM files o WHERE o.id = $2 AND $4
), f AS (
  UPDATE files t
  SET blob_key = r.blob_key, bytes = r.bytes, sha256 = r.sha256, content_type = r.content_type,
    declared_content_type = r.declared_content_type, version = t.version + 1, content_by = $5,
content_updated_at = greatest(now(), coalesce(t.content_updated_at, t.created_at) + interval '1 millisecond'),
updated_at = greatest(now(), t.updated_at + interval '1 millisecond')
  FROM restored r WHERE t.id = $2
  RETURNING t.*
)
SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id FROM f`,
  ['restored_id', 'id', 'version_id', 'is_kept', 'user_id'],
)
export interface RestoreVersionRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
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
 * Revokes the links of a file that are not revoked yet.
 * @see prisma/sql/storage/revoke-links-of-file.sql
 */
export const revokeLinksOfFile = many<{ file_id: string }, RevokeLinksOfFileRow>(
  'storage/revoke-links-of-file',
  `UPDATE file_links SET revoked_at = now() WHERE file_id = $1 AND revoked_at IS NULL
RETURNING id`,
  ['file_id'],
)
export interface RevokeLinksOfFileRow {
  id: string
}

/**
 * Revokes an upload link, unless it is revoked already.
 * @see prisma/sql/storage/revoke-upload-link.sql
 */
export const revokeUploadLink = none<{ id: string }>(
  'storage/revoke-upload-link',
  `UPDATE upload_links SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1`,
  ['id'],
)

/**
 * Stores the CRC-32 of entries of an archive.
 * @see prisma/sql/storage/set-archive-checksums.sql
 */
export const setArchiveChecksums = none<{ numbers: readonly number[]; sums: readonly number[]; archive_id: string }>(
  'storage/set-archive-checksums',
  `UPDATE archive_entries e SET crc32 = c.sum
FROM unnest($1::int[], $2::bigint[]) AS c(number, sum)
WHERE e.archive_id = $3 AND e.number = c.number`,
  ['numbers', 'sums', 'archive_id'],
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

/**
 * Makes the folders visible again whose deletion is canceled.
 * @see prisma/sql/storage/show-folder.sql
 */
export const showFolder = none<{ new_path: string; path: string; id: string; name: string; parent_id: string | null; job_id: string }>(
  'storage/show-folder',
  `UPDATE folders d
SET deleted_at = NULL, deletion_job_id = NULL,
  path = $1 || substr(d.path, char_length($2) + 1),
  name = CASE WHEN d.id = $3 THEN $4 ELSE d.name END,
  parent_id = CASE WHEN d.id = $3 THEN $5 ELSE d.parent_id END
WHERE d.deletion_job_id = $6`,
  ['new_path', 'path', 'id', 'name', 'parent_id', 'job_id'],
)

/**
 * The bytes of the versions of a file.
 * @see prisma/sql/storage/sum-versions.sql
 */
export const sumVersions = one<{ file_id: string }, SumVersionsRow>(
  'storage/sum-versions',
  `SELECT coalesce(sum(bytes), 0)::bigint AS "bytes" FROM file_versions WHERE file_id = $1`,
  ['file_id'],
  { reads: true },
)
export interface SumVersionsRow {
  bytes: number
}

/**
 * The blobs in quarantine by reason, without those that a row refers to.
 * @see prisma/sql/storage/summarize-quarantine.sql
 */
export const summarizeQuarantine = many<{}, SummarizeQuarantineRow>(
  'storage/summarize-quarantine',
  `SELECT k.reason, count(*)::int AS n, sum(k.bytes)::bigint AS "bytes", min(k.since) AS "since"
FROM quarantined_blobs k WHERE NOT (EXISTS (SELECT FROM files f WHERE f.blob_key = k.key)
  OR EXISTS (SELECT FROM file_versions n WHERE n.blob_key = k.key)
  OR EXISTS (SELECT FROM avatars a WHERE a.id = split_part(k.key, '-', 1))
  OR EXISTS (SELECT FROM account_exports e WHERE e.blob_key = k.key)) GROUP BY k.reason ORDER BY k.reason`,
  [],
  { reads: true },
)
export interface SummarizeQuarantineRow {
  reason: 'deleted' | 'unknown'
  n: number
  bytes: number
  since: string
}

/**
 * The number of files in the trash of a workspace, and when the last one came there.
 * @see prisma/sql/storage/summarize-trash.sql
 */
export const summarizeTrash = one<{ workspace_id: string }, SummarizeTrashRow>(
  'storage/summarize-trash',
  `SELECT count(*) AS "files", max(f.trashed_at) AS "last_at"
FROM files f WHERE f.workspace_id = $1 AND f.trashed_at IS NOT NULL`,
  ['workspace_id'],
  { reads: true },
)
export interface SummarizeTrashRow {
  files: number
  last_at: string | null
}

/**
 * Sets the tags and the metadata of locked files. `changes`: an array of objects with their ids.
 * @see prisma/sql/storage/tag-files.sql
 */
export const tagFiles = many<{ changes: object | string }, TagFilesRow>(
  'storage/tag-files',
  `WITH f AS (
  UPDATE files t
  SET tags = r.tags, metadata = r.metadata,
    updated_at = greatest(now(), t.updated_at + interval '1 millisecond')
  FROM jsonb_to_recordset($1::jsonb) AS r (id text, tags text[], metadata jsonb)
  WHERE t.id = r.id
  RETURNING t.*
)
SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id FROM f ORDER BY f.id`,
  ['changes'],
)
export interface TagFilesRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * Moves files to the trash.
 * @see prisma/sql/storage/trash-files.sql
 */
export const trashFiles = many<{ days: number; user_id: string; ids: readonly string[] }, TrashFilesRow>(
  'storage/trash-files',
  `WITH f AS (
  UPDATE files t
  SET trashed_at = now(), purge_at = now() + make_interval(days => $1), trashed_by = $2,
    trashed_path = coalesce((SELECT d.path FROM folders d WHERE d.id = t.folder_id), ''), folder_id = NULL,
    updated_at = greatest(now(), t.updated_at + interval '1 millisecond')
  WHERE t.id = ANY($3) AND t.trashed_at IS NULL
  RETURNING *
)
SELECT f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at, f.project_id, f.owner_id FROM f ORDER BY f.id`,
  ['days', 'user_id', 'ids'],
)
export interface TrashFilesRow {
  id: string
  name: string
  folder_id: string | null
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
  content_version: number
  content_updated_at: string
  trashed_at: string | null
  purge_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * Deletes the oldest versions of a locked file, except as many as are kept.
 * @see prisma/sql/storage/trim-versions.sql
 */
export const trimVersions = none<{ file_id: string; kept: number }>(
  'storage/trim-versions',
  `DELETE FROM file_versions WHERE id = ANY(ARRAY(
  SELECT id FROM file_versions WHERE file_id = $1 ORDER BY number DESC OFFSET $2))`,
  ['file_id', 'kept'],
)

/**
 * Takes the blobs without a row that the running sweep has added out of the quarantine again.
 * @see prisma/sql/storage/undo-quarantine.sql
 */
export const undoQuarantine = none<{}>(
  'storage/undo-quarantine',
  `DELETE FROM quarantined_blobs
WHERE reason = 'unknown' AND since >= (SELECT sweep_began_at FROM database_identity)`,
)
