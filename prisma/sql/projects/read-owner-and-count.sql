-- The main owner of a project, and the number of its members.
-- @one
SELECT owner_id, member_count FROM projects WHERE id = :id
