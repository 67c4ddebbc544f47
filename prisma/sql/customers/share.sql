-- A customer of any seller, locked against deletion.
-- @optional
{find}
FOR SHARE
