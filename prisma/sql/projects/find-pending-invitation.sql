-- The invitation of an email address or of a user to a project that is `pending` in the table.
-- @optional
-- @type status Schemas['Invitation']['status']
SELECT i.id, {invitation-status} AS status
FROM invitations i
WHERE i.project_id = :project_id AND i.status = 'pending'
  AND i.email = :email AND (i.email <> '' OR i.user_id = :user_id?)
LIMIT 1
