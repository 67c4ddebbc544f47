-- Deletes a batch of the requests beyond the newest `:kept` of each user who sent one in the last
-- hour.
-- @one
WITH deleted AS (
  DELETE FROM api_requests WHERE id = ANY(ARRAY(
    SELECT r.id
    FROM (SELECT DISTINCT user_id FROM api_requests WHERE id > id_at('arq', now() - interval '1 hour')) a
    CROSS JOIN LATERAL (
      SELECT id FROM api_requests WHERE user_id = a.user_id ORDER BY id DESC OFFSET :kept LIMIT :limit
    ) r
    LIMIT :limit))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
