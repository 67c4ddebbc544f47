-- A batch of the events that only a deleted user could read. Operators still read the sales.
-- @many
SELECT e.id FROM users u CROSS JOIN LATERAL (
  SELECT e.id FROM events e
  WHERE e.project_id IS NULL AND e.user_id = u.id AND e.sequence IS NOT NULL AND NOT {is-sale}
  ORDER BY e.sequence LIMIT :limit
) e
WHERE u.status = 'deleted' LIMIT :limit
