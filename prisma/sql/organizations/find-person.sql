-- A user who is a person, and whether the caller is a member of one project or organization with the user.
-- @optional
SELECT u.id, {projects/is-known} AS "is_known!"
FROM users u
WHERE u.id = :user_id AND u.status <> 'deleted'
  AND NOT EXISTS (SELECT FROM service_accounts s WHERE s.user_id = u.id)
