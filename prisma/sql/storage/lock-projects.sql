-- Locks projects in the order of their ids, so that their status and members stay as they are.
-- @many
SELECT p.id FROM projects p WHERE p.id = ANY(:ids) ORDER BY p.id COLLATE "C" FOR SHARE
