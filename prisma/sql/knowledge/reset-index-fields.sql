-- Resets what a document tells about its text and chunks, which are deleted.
-- @none
UPDATE documents SET revision = revision + 1, tokens = 0, chunk_count = 0, indexed_at = NULL WHERE id = :id
