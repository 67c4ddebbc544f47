-- A project that exists and has no owner besides the user.
-- @optional
SELECT m.project_id AS id FROM members m
WHERE m.user_id = :user_id AND m.role = 'owner' AND m.project_status <> 'deleted'
  AND NOT EXISTS (
    SELECT 1 FROM members o WHERE o.project_id = m.project_id AND o.role = 'owner' AND o.user_id <> :user_id
  )
LIMIT 1
