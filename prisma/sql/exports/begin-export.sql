-- Notes that a job writes an export. No row if the account was deleted, or if the export is complete.
-- @optional
UPDATE account_exports SET status = 'processing', updated_at = now()
WHERE id = :id AND status IN ('queued', 'processing')
RETURNING id
