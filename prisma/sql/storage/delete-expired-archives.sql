-- Deletes a batch of the archives that have expired.
-- @one
WITH deleted AS (
  DELETE FROM archives WHERE id = ANY(ARRAY(
    SELECT id FROM archives WHERE expires_at < now() LIMIT :limit
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
