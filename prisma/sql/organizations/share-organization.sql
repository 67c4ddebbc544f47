-- `find-organization`, whose members cannot change before the transaction ends.
-- @optional
-- @type your_membership Schemas['Organization']['your_membership']
{find-organization}
FOR SHARE OF o
