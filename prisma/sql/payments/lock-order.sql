-- Like `find-order`, but locks the order against other writers.
-- @optional
{find-order}
FOR NO KEY UPDATE
