-- Like `find-project`, but blocks other writers of the project and of its members, not readers.
-- @optional
{find-project}
FOR NO KEY UPDATE OF p
