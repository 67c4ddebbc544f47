-- Like `open-knowledge-base`, but locks the knowledge base against all other writers, and its project.
-- @optional
SELECT {base-columns}, {projects/locked-access row=k role=ai_role} FROM knowledge_bases k WHERE k.id = :id
FOR NO KEY UPDATE OF k
