-- Serializes the chat requests of a user, and of those who share the user's limits, until the end of the
-- transaction.
-- @one
SELECT pg_advisory_xact_lock(hashtextextended('ai ' || limits_of(:user_id), 0))
