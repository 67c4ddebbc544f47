-- The same, locked until the transaction ends.
-- @optional
{read-session}
FOR NO KEY UPDATE OF s
