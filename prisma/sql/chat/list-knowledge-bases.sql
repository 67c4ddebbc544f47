-- The newest knowledge bases of a workspace, at most 100.
-- @many
SELECT id FROM knowledge_bases WHERE workspace_id = :workspace_id ORDER BY id DESC LIMIT 100
