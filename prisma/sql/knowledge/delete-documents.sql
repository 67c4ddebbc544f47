-- Deletes a batch of the documents of a knowledge base.
-- @one
WITH deleted AS (DELETE FROM documents WHERE id = ANY(ARRAY({first-documents})) RETURNING 1)
SELECT count(*)::int AS n FROM deleted
