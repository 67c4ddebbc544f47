-- Stores the outcome of an export: its file, or that it failed. No row if the account was deleted.
-- @optional
UPDATE account_exports e
SET status = CASE WHEN :blob_key?::text IS NULL THEN 'failed' ELSE 'ready' END::"AccountExportStatus",
  blob_key = :blob_key, bytes = :bytes?, sha256 = :sha256?, updated_at = now(), completed_at = now(),
  expires_at = now() + interval '1 day' * :days::int
WHERE e.id = :id AND e.status = 'processing'
RETURNING {export-columns}, e.user_id
