-- The keys of multipart uploads in S3 that no unfinished upload uses.
-- @many
SELECT k.key AS "key!" FROM unnest(:keys::text[]) AS k (key)
WHERE NOT EXISTS (SELECT FROM uploads u WHERE u.multipart ->> 'key' = k.key AND u.file_id IS NULL)
