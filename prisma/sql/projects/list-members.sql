-- The members of a project.
-- Every member has a user: LEFT JOIN allows PostgreSQL to count filtered members without the users.
-- @page
SELECT {member-columns}
FROM members m LEFT JOIN users u ON u.id = m.user_id
WHERE m.project_id = :project_id
-- @common m.created_at m.updated_at m.metadata
-- @filter role
m.role = ANY(:role)
-- @filter pattern searches
u.name ILIKE :pattern OR u.email LIKE lower(:pattern)
-- @sort created_at
m.created_at
-- @sort name
lower(u.name)
-- @sort updated_at
m.updated_at
-- @id
m.id
-- @total
SELECT member_count AS total FROM projects WHERE id = :project_id
