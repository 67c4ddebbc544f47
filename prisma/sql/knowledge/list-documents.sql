-- The documents of a knowledge base. TypeIDs sort by creation time.
-- @page
SELECT {document-columns}, k.project_id
FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
WHERE d.knowledge_base_id = :knowledge_base_id
-- @common d.id=doc d.updated_at d.metadata
-- @filter status searches
d.status = ANY(:status)
-- @filter pattern searches
lower(d.name) LIKE lower(:pattern)
-- @filter created_by
d.created_by = :created_by
-- @sort created_at
d.id
-- @sort name
lower(d.name)
-- @sort updated_at
d.updated_at
-- @id
d.id
-- @total
SELECT coalesce(sum(count), 0) AS total FROM document_counts WHERE knowledge_base_id = :knowledge_base_id
-- @total status
SELECT coalesce(sum(count), 0) AS total FROM document_counts
WHERE knowledge_base_id = :knowledge_base_id AND status = ANY(:status)
