-- Locks documents that have waited for ten minutes and have no parsing job.
-- @many
SELECT d.id AS document_id, d.wanted, k.workspace_id, 0 AS tries
FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
WHERE d.status IN ('queued', 'processing') AND d.updated_at < now() - interval '10 minutes' AND NOT EXISTS (
  SELECT FROM jobs j
  WHERE j.queue = 'documents' AND j.data ->> 'document_id' = d.id AND j.data ->> 'wanted' = d.wanted::text
) ORDER BY d.updated_at LIMIT :limit FOR UPDATE OF d SKIP LOCKED
