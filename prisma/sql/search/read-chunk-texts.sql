-- The texts of chunks.
-- @many
SELECT id, text FROM chunks WHERE id = ANY(:ids)
