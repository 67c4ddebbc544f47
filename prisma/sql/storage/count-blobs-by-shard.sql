-- How many blobs the rows from before a time need, by the last two characters of the id. Several files and
-- versions may have one blob.
-- @many
SELECT right(b.id, 2) AS "shard!", sum(b.n)::int AS "n!"
FROM (
  SELECT f.blob_key AS id, 1 AS n FROM {content-blobs} f WHERE f.since < :before GROUP BY f.blob_key
  UNION ALL
  SELECT a.id, jsonb_array_length(a.variants) FROM avatars a WHERE a.updated_at < :before
  UNION ALL
  SELECT e.blob_key, 1 FROM account_exports e WHERE e.completed_at < :before AND e.blob_key IS NOT NULL
) b
GROUP BY 1
