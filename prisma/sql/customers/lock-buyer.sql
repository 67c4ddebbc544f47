-- Locks a person who exists against deletion. Service accounts buy nothing.
-- @optional
SELECT u.id FROM users u
WHERE u.id = :id AND u.status <> 'deleted'
  AND NOT EXISTS (SELECT FROM service_accounts a WHERE a.user_id = u.id)
FOR KEY SHARE OF u
