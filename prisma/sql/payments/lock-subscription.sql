-- Like `find-subscription`, but locks the subscription against other writers.
-- @optional
{find-subscription}
FOR NO KEY UPDATE
