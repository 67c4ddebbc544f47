-- A session that has not ended, locked until the transaction ends.
-- @optional
{read-session}
FOR NO KEY UPDATE OF s
