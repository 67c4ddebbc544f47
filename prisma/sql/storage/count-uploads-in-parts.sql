-- The unfinished uploads whose bytes are in parts in S3.
-- @one
SELECT count(*)::int AS n FROM uploads WHERE multipart IS NOT NULL AND file_id IS NULL
