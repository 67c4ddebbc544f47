-- A document and the caller's access to its knowledge base. Without a matching document the row has a null
-- `id`, so that a missing document (404) is distinguished from a forbidden one (403).
-- @optional
SELECT {document-columns}, d.wanted, {projects/access row=k role=ai_role} FROM knowledge_bases k
LEFT JOIN LATERAL (
  SELECT * FROM documents WHERE id = :document_id AND knowledge_base_id = k.id
) d ON true WHERE k.id = :knowledge_base_id
