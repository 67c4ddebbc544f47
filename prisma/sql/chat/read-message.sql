-- A message and the caller's access to it.
-- @optional
SELECT {message-columns}, m.user_id, m.key_project_id, {projects/access row=m role=ai_role}
FROM {owned-message}
