-- Locks the document of a job, unless the job is out of date.
-- @optional
-- @type metadata Record<string, string>
SELECT id, knowledge_base_id, name, metadata FROM documents
WHERE id = :id AND wanted = :wanted AND status IN ('queued', 'processing') FOR NO KEY UPDATE
