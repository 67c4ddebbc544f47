-- Other blobs with the same bytes, by their rows.
-- @many
SELECT DISTINCT r.blob_key AS "key!" FROM {content-blobs} r
WHERE r.sha256 = :sha256 AND r.bytes = :bytes AND r.blob_key <> :key LIMIT 20
