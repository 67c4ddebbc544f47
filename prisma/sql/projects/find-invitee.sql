-- The user with an id or an email address, whether the user is a member of the project, and whether the user
-- and the caller are members of one project.
-- @optional
SELECT u.id,
  EXISTS (SELECT FROM members m WHERE m.project_id = :project_id AND m.user_id = u.id) AS "is_member!",
  EXISTS (
    SELECT FROM members own JOIN members m ON m.project_id = own.project_id
    WHERE own.user_id = :caller_id AND m.user_id = u.id AND own.project_status <> 'deleted'
  ) AS "is_known!"
FROM users u
WHERE (u.id = :user_id? OR u.email = :email?) AND u.status <> 'deleted'
