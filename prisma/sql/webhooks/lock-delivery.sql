-- Like `find-delivery`, but locks the delivery until the transaction ends.
-- @optional
{find-delivery}
FOR NO KEY UPDATE OF d
