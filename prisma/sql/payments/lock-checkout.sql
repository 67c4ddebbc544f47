-- `find-checkout` that locks the session against other writers.
-- @optional
{find-checkout}
FOR NO KEY UPDATE
