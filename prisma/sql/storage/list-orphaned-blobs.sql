-- Those of the keys that no file and no avatar refers to.
-- @many
SELECT k.key AS "key!" FROM unnest(:keys::text[]) AS k (key)
WHERE NOT EXISTS (SELECT 1 FROM files f WHERE f.blob_key = k.key)
  AND NOT EXISTS (SELECT 1 FROM avatars a WHERE a.id = split_part(k.key, '-', 1))
