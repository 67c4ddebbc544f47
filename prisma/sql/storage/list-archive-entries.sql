-- A page of the entries of an archive after one, or from a place in the archive or in its directory on.
-- `is_there`: whether the file is still visible in the workspace of the archive.
-- @many
SELECT e.number, e.file_id, e.blob_key, e.name, e.bytes, e.modified_at, e."offset", e.central_offset,
  e.crc32, EXISTS (
    SELECT FROM files f JOIN archives a ON a.id = e.archive_id
    WHERE f.id = e.file_id AND f.workspace_id = coalesce(a.project_id, a.owner_id) AND {is-visible}
  ) AS is_there
FROM archive_entries e
WHERE e.archive_id = :archive_id AND e.number > :after
  AND (:offset?::bigint IS NULL OR e.number >= (
    SELECT max(b.number) FROM archive_entries b
    WHERE b.archive_id = :archive_id AND b."offset" <= :offset))
  AND (:central?::bigint IS NULL OR e.number >= (
    SELECT max(b.number) FROM archive_entries b
    WHERE b.archive_id = :archive_id AND b.central_offset <= :central))
ORDER BY e.number LIMIT :limit
