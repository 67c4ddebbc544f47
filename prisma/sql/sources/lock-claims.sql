-- Serializes the claims of sources until the end of the transaction: two claims at once do not see each
-- other's sync of the same owner.
-- @one
SELECT pg_advisory_xact_lock(hashtextextended('source claims', 0))::text AS locked
