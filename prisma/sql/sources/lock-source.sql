-- Like `read-source`, but locks the source and its project against other writers.
-- @optional
SELECT {source-columns}, {projects/locked-access row=k role=ai_role} FROM knowledge_bases k
LEFT JOIN LATERAL (
  SELECT * FROM knowledge_sources WHERE id = :source_id AND knowledge_base_id = k.id FOR NO KEY UPDATE
) s ON true WHERE k.id = :knowledge_base_id
