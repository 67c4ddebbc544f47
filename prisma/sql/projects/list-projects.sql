-- The projects that a user is a member of. The expression `|| ''` keeps PostgreSQL from a merge join on
-- the indexes, which would first read the newer projects of all other users.
-- @page
SELECT {project-columns}, m.role AS your_role
FROM members m JOIN projects p ON p.id = m.project_id || ''
WHERE m.user_id = :user_id
-- @common m.project_id=prj p.updated_at p.metadata
-- @filter status
m.project_status = ANY(:status)
-- @otherwise
m.project_status <> 'deleted'
-- @filter project_ids
m.project_id = ANY(:project_ids)
-- @filter organization_id searches
p.organization_id = :organization_id
-- @filter category searches
p.category = :category
-- @filter tag searches
p.tags @> ARRAY[:tag::text]
-- @filter pattern searches
p.name ILIKE :pattern OR p.description ILIKE :pattern
-- @sort created_at
m.project_id
-- @sort updated_at
p.updated_at
-- @sort name
lower(p.name)
-- @id
m.project_id
-- @total
SELECT coalesce(sum(count), 0) AS total FROM project_counts WHERE user_id = :user_id AND status <> 'deleted'
-- @total status
SELECT coalesce(sum(count), 0) AS total FROM project_counts WHERE user_id = :user_id AND status = ANY(:status)
