-- Like `read-document`, but locks the document and its project against other writers.
-- @optional
SELECT {document-columns}, d.wanted, {projects/locked-access row=k role=ai_role} FROM knowledge_bases k
LEFT JOIN LATERAL (
  SELECT * FROM documents WHERE id = :document_id AND knowledge_base_id = k.id FOR NO KEY UPDATE
) d ON true WHERE k.id = :knowledge_base_id
