-- Seconds since the oldest event that has no sequence was written; 0 without such an event.
-- @one
SELECT coalesce(
  (SELECT extract(epoch FROM now() - e.created_at) FROM events e WHERE e.sequence IS NULL
    ORDER BY e.position LIMIT 1),
  0)::float8 AS seconds
