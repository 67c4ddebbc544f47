-- Like `find`, but locks the customer against other writers and new sales.
-- @optional
{find}
FOR NO KEY UPDATE
