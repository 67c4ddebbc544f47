-- Deletes a batch of the reservations that their servers have not renewed for an hour.
-- @one
WITH deleted AS (
  DELETE FROM storage_reservations WHERE id = ANY(ARRAY(
    SELECT id FROM storage_reservations WHERE held_until < now() - interval '1 hour' LIMIT :limit
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
