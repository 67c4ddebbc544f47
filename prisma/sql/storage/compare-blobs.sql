-- The rows of these blobs. `bytes` and `sha256` are null for a blob without a row. A blob is counted by
-- `count-blobs-by-shard` if it has a row from before the time.
-- @many
SELECT k.key AS "key!", coalesce(f.bytes, v.bytes, e.bytes) AS "bytes?",
  coalesce(f.sha256, v.sha256, e.sha256) AS "sha256?",
  coalesce(coalesce(f.since, a.updated_at, e.completed_at) < :before, false) AS "is_counted!",
  EXISTS (SELECT FROM quarantined_blobs q WHERE q.key = k.key) AS is_quarantined
FROM unnest(:keys::text[]) AS k (key)
  LEFT JOIN LATERAL (
    SELECT r.bytes, r.sha256, r.since FROM {content-blobs} r WHERE r.blob_key = k.key ORDER BY r.since LIMIT 1
  ) f ON true
  LEFT JOIN account_exports e ON e.blob_key = k.key
  LEFT JOIN avatars a ON a.id = split_part(k.key, '-', 1)
  LEFT JOIN LATERAL jsonb_to_recordset(a.variants) AS v (size int, bytes bigint, sha256 text)
    ON v.size::text = split_part(k.key, '-', 2)
