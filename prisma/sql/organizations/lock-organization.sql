-- Like `find-organization`, but blocks other writers of the organization and of its members, not readers.
-- @optional
-- @type your_membership Schemas['Organization']['your_membership']
{find-organization}
FOR NO KEY UPDATE OF o
