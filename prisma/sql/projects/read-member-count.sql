-- The number of members of a project.
-- @one
SELECT member_count FROM projects WHERE id = :id
