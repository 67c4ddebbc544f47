-- Inserts a knowledge base.
-- @one
WITH k AS (
  INSERT INTO knowledge_bases (id, project_id, owner_id, workspace_id, name, description, max_tokens,
    overlap_tokens, metadata, created_at, updated_at)
  VALUES (:id, :project_id?, :owner_id, coalesce(:project_id, :owner_id), :name, :description?, :max_tokens,
    :overlap_tokens, :metadata, :created_at, :created_at)
  RETURNING *
)
SELECT {base-columns}, k.project_id FROM k
