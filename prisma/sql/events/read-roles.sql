-- The roles of the users in the projects and organizations.
-- @many
SELECT project_id AS "project_id!", user_id AS "user_id!", role AS "role!", storage_role,
  ai_role, payments_role
FROM event_readers
WHERE project_id = ANY(:project_ids) AND user_id = ANY(:user_ids)
