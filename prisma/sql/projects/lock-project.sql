-- `find-project` that blocks other writers of the project and of its members, but not readers.
-- @optional
{find-project}
FOR NO KEY UPDATE OF p
