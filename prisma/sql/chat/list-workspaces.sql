-- The workspaces of knowledge bases.
-- @many
SELECT DISTINCT workspace_id FROM knowledge_bases WHERE id = ANY(:knowledge_base_ids)
