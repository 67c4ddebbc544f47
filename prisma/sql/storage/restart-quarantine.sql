-- Makes every blob wait for the whole time of the quarantine again.
-- @none
UPDATE database_identity SET quarantine_restarted_at = now()
