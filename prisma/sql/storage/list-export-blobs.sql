-- The blobs of exports in the order of their keys, those after a key.
-- @many
SELECT e.blob_key AS "key!", e.bytes AS "bytes!", e.completed_at < :before AS "is_counted!"
FROM account_exports e WHERE e.blob_key > :after ORDER BY e.blob_key LIMIT :limit
