-- Locks a project against other writers of it and of its members, not readers. Read it afterwards, in a
-- statement of its own: a statement that has waited for a lock reads other rows as they were before.
-- @optional
SELECT id FROM projects WHERE id = :id FOR NO KEY UPDATE
