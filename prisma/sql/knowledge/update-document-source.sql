-- Replaces the text that a document was created from.
-- @none
UPDATE documents SET source = :source, sha256 = :sha256, bytes = octet_length(:source) WHERE id = :id
