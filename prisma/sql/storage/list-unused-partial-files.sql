-- The partial files and tails that no unfinished upload uses. Their names begin
-- with the id of their upload.
-- @many
SELECT k.name AS "name!" FROM unnest(:names::text[]) AS k (name)
WHERE NOT EXISTS (
  SELECT 1 FROM uploads u WHERE u.id = split_part(k.name, '.', 1) AND u.file_id IS NULL
)
