-- Like `read-files`, but locks the files against other writers, in the order of their ids.
-- @many
{read-files}
FOR NO KEY UPDATE OF f
