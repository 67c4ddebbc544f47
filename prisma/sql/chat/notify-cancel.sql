-- Notifies the process that generates the answer :id that the user has canceled it.
-- @one
SELECT pg_notify(:channel, :id)
