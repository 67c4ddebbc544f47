-- The knowledge bases of a project or user. TypeIDs sort by creation time.
-- @page
SELECT {base-columns}, k.project_id FROM knowledge_bases k WHERE k.workspace_id = :workspace_id
-- @common k.id=kb k.updated_at k.metadata
-- @filter q searches
k.name ILIKE :q OR k.description ILIKE :q
-- @filter created_by
k.owner_id = :created_by
-- @sort created_at
k.id
-- @sort name
lower(k.name)
-- @sort updated_at
k.updated_at
-- @id
k.id
