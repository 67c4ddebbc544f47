-- Locks an e-mail that is to be sent. The counts are the others to the same address before it, of its kind or
-- of `open_kinds`: those that were sent, and older ones that are being sent.
-- @optional
SELECT m.id, m.kind, m.recipient, m.secret, m.resource_id, m.content, m.attempts, m.created_at,
  earlier.lately AS "lately!", earlier.last_hour AS "last_hour!", earlier.today AS "today!",
  earlier.open_today AS "open_today!"
FROM mails m CROSS JOIN LATERAL (
  SELECT
    count(*) FILTER (WHERE o.kind = m.kind AND o.created_at > m.created_at - interval '15 minutes')::int
      AS lately,
    count(*) FILTER (WHERE o.kind = m.kind AND o.created_at > m.created_at - interval '1 hour')::int
      AS last_hour,
    count(*) FILTER (WHERE o.kind = m.kind)::int AS today,
    count(*) FILTER (WHERE o.kind = ANY(:open_kinds))::int AS open_today
  FROM mails o WHERE o.recipient = m.recipient AND o.kind = ANY(m.kind || :open_kinds)
    AND o.created_at > m.created_at - interval '1 day'
    AND (o.status IN ('sent', 'kept') OR (o.content IS NOT NULL AND o.id < m.id))
) earlier
WHERE m.id = :id AND m.status = 'queued' FOR NO KEY UPDATE OF m
