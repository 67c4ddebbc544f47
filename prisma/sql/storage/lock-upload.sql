-- `find-upload` that locks the upload until the transaction ends.
-- @optional
{find-upload}
FOR UPDATE
