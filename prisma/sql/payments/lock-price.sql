-- `find-price` that locks the price against other writers.
-- @optional
{find-price}
FOR NO KEY UPDATE
