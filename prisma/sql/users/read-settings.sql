-- The settings of a user. `default_project_id` is null when the user is no longer a member of the project, or
-- the project is deleted.
-- @one
-- @type ai Schemas['Settings']['ai']
SELECT s.theme,
  jsonb_build_object('default_model', s.ai_default_model, 'store_history', s.ai_store_history) AS ai,
  m.project_id AS default_project_id, s.updated_at
FROM settings s LEFT JOIN members m
  ON m.project_id = s.default_project_id AND m.user_id = s.user_id AND m.project_status <> 'deleted'
WHERE s.user_id = :user_id
