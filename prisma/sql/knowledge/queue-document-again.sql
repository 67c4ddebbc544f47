-- Asks for a new version of a document; the outcome of the jobs before is discarded.
-- @none
UPDATE documents SET wanted = wanted + 1, status = 'queued', error = NULL WHERE id = :id
