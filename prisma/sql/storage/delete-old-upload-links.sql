-- Deletes a batch of the upload links that expired more than 30 days ago.
-- @one
WITH deleted AS (
  DELETE FROM upload_links WHERE id = ANY(ARRAY(
    SELECT id FROM upload_links WHERE expires_at < now() - interval '30 days' LIMIT :limit
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
