-- The beginnings of the texts of chunks.
-- @many
SELECT id, left(text, :length) AS "text!" FROM chunks WHERE id = ANY(:ids)
