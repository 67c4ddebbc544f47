-- Locks a key until the transaction ends, unless another request holds the lock.
-- @one
SELECT pg_try_advisory_xact_lock(hashtextextended(:key, 0)) AS taken
