-- Locks an e-mail that is to be sent. `sent_lately` are those of its kind to the same address in the 15
-- minutes before, also those that are still being sent.
-- @optional
SELECT m.id, m.kind, m.recipient, m.secret, m.resource_id, m.content, m.attempts, m.created_at,
  (SELECT count(*) FROM mails o WHERE o.recipient = m.recipient AND o.kind = m.kind AND o.id <> m.id
    AND o.created_at > m.created_at - interval '15 minutes'
    AND (o.status = 'sent' OR o.content IS NOT NULL))::int AS "sent_lately!"
FROM mails m WHERE m.id = :id AND m.status = 'queued' FOR NO KEY UPDATE OF m
