-- `find-product` that locks the product against other writers.
-- @optional
{find-product}
FOR NO KEY UPDATE
