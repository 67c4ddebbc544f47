-- The export of a user that is being written.
-- @optional
SELECT {export-columns} FROM account_exports e
WHERE e.user_id = :user_id AND e.status IN ('queued', 'processing')
