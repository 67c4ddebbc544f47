-- Like `open-knowledge-base`, but locks the knowledge base against deletion, and its project.
-- @optional
SELECT {base-columns}, {projects/locked-access row=k role=ai_role} FROM knowledge_bases k WHERE k.id = :id
FOR KEY SHARE OF k
