-- A batch of the events that only a deleted user could read.
-- @many
SELECT e.id FROM users u CROSS JOIN LATERAL (
  SELECT id FROM events WHERE project_id IS NULL AND user_id = u.id AND sequence IS NOT NULL
  ORDER BY sequence LIMIT :limit
) e
WHERE u.status = 'deleted' LIMIT :limit
