-- Makes a member of a project an owner. A service account cannot be one.
-- @optional
UPDATE members m SET own_role = 'owner', custom_role_id = NULL
WHERE m.project_id = :project_id AND m.user_id = :user_id
  AND NOT EXISTS (SELECT FROM service_accounts s WHERE s.user_id = m.user_id)
RETURNING m.id
