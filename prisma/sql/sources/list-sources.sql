-- The sources of a knowledge base.
-- @page
SELECT {source-columns}, k.project_id
FROM knowledge_sources s JOIN knowledge_bases k ON k.id = s.knowledge_base_id
WHERE s.knowledge_base_id = :knowledge_base_id
-- @common s.id=src s.updated_at
-- @filter created_by
s.created_by = :created_by
-- @sort created_at
s.id
-- @id
s.id
