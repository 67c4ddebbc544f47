-- Locks an e-mail that is to be sent. `sent_lately` are those of its kind to the same address in the last
-- hour.
-- @optional
SELECT m.id, m.kind, m.recipient, m.user_id, m.secret, m.subject, m.content, m.attempts, m.created_at,
  (SELECT count(*) FROM mails o WHERE o.recipient = m.recipient AND o.kind = m.kind
    AND o.created_at > m.created_at - interval '1 hour' AND o.status IN ('sent', 'kept'))::int
    AS "sent_lately!"
FROM mails m WHERE m.id = :id AND m.status = 'queued' FOR NO KEY UPDATE OF m
