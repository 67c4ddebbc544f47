-- Like `read-source`, but locks the knowledge base, the source and its project against other writers. The
-- sources of a knowledge base share documents, so their pages change one transaction after the other.
-- @optional
SELECT {source-columns}, {projects/locked-access row=k role=ai_role} FROM (
  SELECT * FROM knowledge_bases WHERE id = :knowledge_base_id FOR NO KEY UPDATE
) k LEFT JOIN LATERAL (
  SELECT * FROM knowledge_sources WHERE id = :source_id AND knowledge_base_id = k.id FOR NO KEY UPDATE
) s ON true
