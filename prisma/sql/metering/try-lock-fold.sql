-- Whether no other process adds up usage, and none recomputes an hour. Until the transaction ends.
-- @one
SELECT pg_try_advisory_xact_lock(hashtextextended('usage', 0)) AS "locked!"
