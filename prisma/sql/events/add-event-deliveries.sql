-- Adds the deliveries of the numbered events after a sequence: of an event in a project or an organization,
-- to the endpoints of its members; of one about a user, to those of the user; of any other, to all; and of a
-- sale, to those of operators, too. OFFSET 0 keeps each event a search of its own.
-- @many
WITH e AS MATERIALIZED (
  SELECT * FROM events WHERE sequence > :after AND sequence <= :through AND delivers
), recipients AS (
  SELECT r.* FROM e CROSS JOIN LATERAL (
    {recipient-of}
    FROM event_readers m JOIN webhook_endpoints w ON w.user_id = m.user_id JOIN users u ON u.id = w.user_id
    WHERE m.project_id = e.project_id AND {receives} OFFSET 0
  ) r
  WHERE e.project_id IS NOT NULL
  UNION
  SELECT r.* FROM e CROSS JOIN LATERAL (
    {recipient-of}
    FROM webhook_endpoints w JOIN users u ON u.id = w.user_id {no-member}
    WHERE w.user_id = e.user_id AND {receives} OFFSET 0
  ) r
  WHERE e.project_id IS NULL AND e.user_id IS NOT NULL
  UNION
  SELECT r.* FROM e CROSS JOIN LATERAL (
    {recipient-of}
    FROM webhook_endpoints w JOIN users u ON u.id = w.user_id {no-member}
    WHERE {receives} OFFSET 0
  ) r
  WHERE e.project_id IS NULL AND e.user_id IS NULL
  UNION
  SELECT r.* FROM e CROSS JOIN LATERAL (
    {recipient-of}
    FROM users u JOIN webhook_endpoints w ON w.user_id = u.id {no-member}
    WHERE u.role = 'admin' AND {receives} OFFSET 0
  ) r
  WHERE e.scope = 'payments:read'
)
{add-deliveries}
