-- Serializes the chat requests of a user until the end of the transaction.
-- @one
SELECT pg_advisory_xact_lock(hashtextextended('ai ' || :user_id, 0))
