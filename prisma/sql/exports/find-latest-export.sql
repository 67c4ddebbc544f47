-- The latest export of a user.
-- @optional
SELECT {export-columns} FROM account_exports e
WHERE e.user_id = :user_id AND coalesce(e.expires_at > now(), true)
ORDER BY e.id DESC LIMIT 1
