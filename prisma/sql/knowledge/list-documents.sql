-- The documents of a knowledge base. TypeIDs sort by creation time.
-- @page
SELECT {document-columns}, k.project_id
FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
WHERE d.knowledge_base_id = :knowledge_base_id
-- @filter status searches
d.status = :status
-- @filter pattern searches
lower(d.name) LIKE lower(:pattern)
-- @sort created_at
d.id
-- @sort name
lower(d.name)
-- @id
d.id
-- @total
SELECT coalesce(sum(count), 0) AS total FROM document_counts WHERE knowledge_base_id = :knowledge_base_id
-- @total status
SELECT coalesce(sum(count), 0) AS total FROM document_counts
WHERE knowledge_base_id = :knowledge_base_id AND status = :status
