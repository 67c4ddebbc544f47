-- `find-order` that locks the order against other writers.
-- @optional
{find-order}
FOR NO KEY UPDATE
