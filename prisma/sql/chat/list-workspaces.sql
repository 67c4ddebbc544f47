-- The workspaces of knowledge bases.
-- @many
SELECT DISTINCT space_id FROM knowledge_bases WHERE id = ANY(:knowledge_base_ids)
