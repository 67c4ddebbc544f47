-- Makes the transactions that add an upload to a workspace wait for each other.
-- @one
SELECT pg_advisory_xact_lock(hashtextextended('uploads ' || :space_id, 0)) AS locked
