-- Adds deliveries of the numbered events after a sequence, at most :most: of an event in a project or an
-- organization, to the endpoints of its members; of one about a user, to those of the user; of any other, to
-- all; and of a sale, to those of operators, too. The next call continues after the last of them. OFFSET 0
-- keeps each event a search of its own.
-- @one
WITH e AS MATERIALIZED (
  SELECT * FROM events WHERE sequence > :after AND sequence <= :through AND delivers
), all_recipients AS (
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
), recipients AS (
  SELECT r.* FROM all_recipients r, event_log l
  WHERE (r.sequence, r.id) > (l.partial_sequence, l.partial_endpoint_id)
  ORDER BY r.sequence, r.id LIMIT :most
), added AS (
  SELECT count(*)::int AS count, max(sequence) AS sequence FROM recipients
), moved AS (
  UPDATE event_log SET
    delivered_sequence = CASE WHEN added.count < :most THEN :through ELSE added.sequence - 1 END,
    partial_sequence = coalesce(added.sequence, partial_sequence),
    partial_endpoint_id =
      coalesce((SELECT max(id) FROM recipients WHERE sequence = added.sequence), partial_endpoint_id)
  FROM added
  RETURNING delivered_sequence
)
{add-deliveries}
SELECT added.count AS "count!", moved.delivered_sequence AS "through!" FROM added, moved
