-- Deletes an e-mail that will not be sent. One with a key keeps its row, without address and content, so that
-- it is not queued again.
-- @none
WITH deleted AS (
  DELETE FROM mails WHERE id = :id AND status = 'queued' AND dedupe_key IS NULL
)
UPDATE mails SET status = 'dropped', recipient = '', secret = NULL, subject = NULL, content = NULL
WHERE id = :id AND status = 'queued' AND dedupe_key IS NOT NULL
