-- Deletes an e-mail that nobody gets. One with a key stays without what it says and to whom, so that it is
-- not queued again.
-- @none
WITH deleted AS (
  DELETE FROM mails WHERE id = :id AND status = 'queued' AND dedupe_key IS NULL
)
UPDATE mails SET status = 'dropped', recipient = '', secret = NULL, subject = NULL, content = NULL
WHERE id = :id AND status = 'queued' AND dedupe_key IS NOT NULL
