-- A source and the caller's access to its knowledge base. Without a matching source the row has a null `id`,
-- so that a missing source (404) is distinguished from a forbidden one (403).
-- @optional
SELECT {source-columns}, {projects/access row=k role=ai_role} FROM knowledge_bases k
LEFT JOIN LATERAL (
  SELECT * FROM knowledge_sources WHERE id = :source_id AND knowledge_base_id = k.id
) s ON true WHERE k.id = :knowledge_base_id
