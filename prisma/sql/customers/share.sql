-- A customer of the operator, locked against deletion.
-- @optional
{find}
FOR SHARE
