-- The latest e-mails of the outbox.
-- @many
SELECT m.id, m.recipient, m.subject, m.content, m.status, m.error, m.created_at
FROM mails m WHERE m.status IN ('kept', 'queued', 'failed') ORDER BY m.id DESC LIMIT :limit
