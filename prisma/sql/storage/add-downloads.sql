-- Adds to the download counts of files.
-- @none
UPDATE files f SET download_count = f.download_count + c.n
FROM unnest(:ids::text[], :counts::int[]) AS c (id, n)
WHERE f.id = c.id
