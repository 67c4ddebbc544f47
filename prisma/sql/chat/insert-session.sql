-- Inserts a session.
-- @one
WITH s AS (
  INSERT INTO ai_sessions (id, project_id, owner_id, workspace_id, title, model, system_prompt,
    knowledge_base_ids, metadata, created_at, updated_at)
  VALUES (:id, :project_id?, :owner_id, coalesce(:project_id, :owner_id), :title?, :model?, :system_prompt?,
    :knowledge_base_ids, :metadata, :created_at, :created_at)
  RETURNING *
)
SELECT {session-columns}, s.project_id FROM s
