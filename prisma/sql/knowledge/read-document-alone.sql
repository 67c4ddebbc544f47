-- A document by its id, and the caller's access to its knowledge base.
-- @optional
SELECT {document-columns}, d.wanted, {projects/access row=k role=ai_role}
FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
WHERE d.id = :id
