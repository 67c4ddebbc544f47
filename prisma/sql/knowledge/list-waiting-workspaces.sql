-- The workspaces with queued documents, each with its owner: the owner of the project, or the user.
-- @many
SELECT DISTINCT k.workspace_id, coalesce(p.owner_id, k.workspace_id) AS "owner_id!"
FROM document_counts c
  JOIN knowledge_bases k ON k.id = c.knowledge_base_id
  LEFT JOIN projects p ON p.id = k.project_id
WHERE c.status = 'queued' AND c.count > 0
