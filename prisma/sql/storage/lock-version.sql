-- Like `find-version`, but locks the version against its deletion.
-- @optional
{find-version}
FOR UPDATE
