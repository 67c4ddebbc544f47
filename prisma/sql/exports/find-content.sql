-- The file of the latest export of a user that is ready.
-- @optional
SELECT e.blob_key AS "blob_key!", e.bytes AS "bytes!", e.sha256 AS "sha256!",
  e.completed_at AS "completed_at!"
FROM account_exports e
WHERE e.user_id = :user_id AND e.status = 'ready' AND e.expires_at > now()
ORDER BY e.id DESC LIMIT 1
