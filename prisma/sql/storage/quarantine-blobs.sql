-- Records that a sweep found these blobs, for those that nothing refers to. A blob that is new in the
-- quarantine must be old: the row of a young one may still come.
-- @one
WITH found AS (
  SELECT k.key, k.bytes
  FROM unnest(:keys::text[], :bytes::bigint[], :are_old::boolean[]) AS k (key, bytes, is_old)
  WHERE NOT {is-known-blob}
    AND (k.is_old OR EXISTS (SELECT FROM quarantined_blobs q WHERE q.key = k.key))
), quarantined AS (
  INSERT INTO quarantined_blobs (key, reason, bytes, sweep_id)
  SELECT key, 'unknown', bytes, :sweep_id FROM found ORDER BY key
  ON CONFLICT (key) DO UPDATE SET bytes = excluded.bytes, sweep_id = excluded.sweep_id
  RETURNING reason, bytes
)
SELECT count(*)::int AS blobs, coalesce(sum(bytes), 0)::bigint AS bytes,
  (count(*) FILTER (WHERE reason = 'unknown'))::int AS unknown
FROM quarantined
