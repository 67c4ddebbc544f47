-- Locks the document of a job, unless the job is out of date.
-- @optional
SELECT id, knowledge_base_id FROM documents
WHERE id = :id AND wanted = :wanted AND status IN ('queued', 'processing') FOR NO KEY UPDATE
