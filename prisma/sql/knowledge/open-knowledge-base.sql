-- A knowledge base and the caller's access to it.
-- @optional
SELECT {base-columns}, {projects/access row=k role=ai_role} FROM knowledge_bases k WHERE k.id = :id
