-- Locks the knowledge base, its project and the sync `run` of a source, so that none of them ends before the
-- transaction, and no other source changes its pages: the sources of a knowledge base share documents.
-- @optional
SELECT k.id,
  (SELECT status FROM projects WHERE id = k.project_id FOR SHARE) AS project_status
FROM knowledge_sources s JOIN knowledge_bases k ON k.id = s.knowledge_base_id
WHERE s.id = :id AND s.run = :run
FOR NO KEY UPDATE OF k FOR SHARE OF s
