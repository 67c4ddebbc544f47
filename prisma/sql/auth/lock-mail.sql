-- Locks an e-mail that is to be sent. `sent_lately` and `sent_today` are the others of its kind to the same
-- address since 15 minutes or a day before it: those that were sent, and older ones that are being sent.
-- @optional
SELECT m.id, m.kind, m.recipient, m.secret, m.resource_id, m.content, m.attempts, m.created_at,
  earlier.lately AS "sent_lately!", earlier.today AS "sent_today!"
FROM mails m CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE o.created_at > m.created_at - interval '15 minutes')::int AS lately,
    count(*)::int AS today
  FROM mails o WHERE o.recipient = m.recipient AND o.kind = m.kind
    AND o.created_at > m.created_at - interval '1 day'
    AND (o.status = 'sent' OR (o.content IS NOT NULL AND o.id < m.id))
) earlier
WHERE m.id = :id AND m.status = 'queued' FOR NO KEY UPDATE OF m
