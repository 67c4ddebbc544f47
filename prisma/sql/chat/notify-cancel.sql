-- Tells the process that generates an answer to cancel it.
-- @one
SELECT pg_notify(:channel, :id)
