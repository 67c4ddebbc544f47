-- Sets the fields of a document that describe its text and chunks to those of an unparsed document, because
-- the text and chunks are deleted.
-- @none
UPDATE documents SET revision = revision + 1, tokens = 0, chunk_count = 0, indexed_at = NULL, charset = NULL
WHERE id = :id
