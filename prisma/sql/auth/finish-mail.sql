-- Ends the work on an e-mail. What was sent is not stored.
-- @none
UPDATE mails SET status = :status, error = :error?, attempts = attempts + 1, secret = NULL,
  content = CASE WHEN :status = 'kept' THEN content END,
  sent_at = CASE WHEN :status = 'sent' THEN now() END
WHERE id = :id
