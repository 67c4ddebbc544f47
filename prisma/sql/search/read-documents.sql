-- The documents of ranked chunks, without those that were deleted or that the caller may no longer read.
-- @many
-- @type metadata Record<string, string>
SELECT d.id AS document_id, k.workspace_id, d.file_id, d.name, d.metadata, d.revision, d.content_type
FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
WHERE d.id = ANY(:ids) AND d.status <> 'failed' AND {readable row=k}
