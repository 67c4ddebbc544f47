-- Like `find-upload`, but locks the upload until the transaction ends.
-- @optional
{find-upload}
FOR UPDATE
