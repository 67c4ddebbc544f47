-- Notifies the process that generates the answer :id that the user has cancelled it.
-- @one
SELECT pg_notify(:channel, :id)
