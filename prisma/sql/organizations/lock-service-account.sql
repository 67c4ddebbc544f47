-- Like `find-service-account`, but blocks other writers of it and of its keys.
-- @optional
{find-service-account}
FOR NO KEY UPDATE OF s, u
