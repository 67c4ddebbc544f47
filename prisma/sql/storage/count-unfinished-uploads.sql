-- The number and the full length of a workspace's unfinished uploads.
-- @one
SELECT count(*)::int AS n, coalesce(sum(length), 0)::bigint AS bytes
FROM uploads
WHERE space_id = :space_id AND file_id IS NULL AND expires_at > now()
