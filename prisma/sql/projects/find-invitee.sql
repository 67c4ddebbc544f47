-- The user with an id or an email address, whether the user is a member of the project, and whether the user
-- and the caller are members of one project or organization. A service account is found only for its own
-- project, and for projects of its organization.
-- @optional
SELECT u.id,
  EXISTS (SELECT FROM members m WHERE m.project_id = :project_id AND m.user_id = u.id) AS "is_member!",
  (s.id IS NOT NULL OR {is-known}) AS "is_known!"
FROM users u LEFT JOIN service_accounts s ON s.user_id = u.id
WHERE (u.id = :user_id? OR u.email = :email?) AND u.status <> 'deleted' AND (
  s.id IS NULL OR s.project_id = :project_id
  OR s.organization_id = (SELECT p.organization_id FROM projects p WHERE p.id = :project_id)
)
