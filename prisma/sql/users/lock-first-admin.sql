-- Waits until no other server creates the first admin.
-- @one
SELECT pg_advisory_xact_lock(hashtextextended('bootstrap', 0))
