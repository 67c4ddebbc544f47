-- Deletes a batch of the requests of earlier days.
-- @one
WITH deleted AS (
  DELETE FROM api_requests WHERE id = ANY(ARRAY(
    SELECT id FROM api_requests WHERE id < id_at('arq', now() - :days::int * interval '1 day')
    ORDER BY id LIMIT :limit))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
