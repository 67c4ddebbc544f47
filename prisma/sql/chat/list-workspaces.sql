-- The workspaces of those knowledge bases that the user may read, which are those that a search reads.
-- @many
SELECT DISTINCT k.workspace_id FROM knowledge_bases k
WHERE k.id = ANY(:knowledge_base_ids) AND {readable workspace=k.workspace_id}
