-- The status of an answer, and whether the process that generates it is alive.
-- @optional
SELECT status, coalesce({is-alive column=heartbeat_at}, false) AS alive
FROM ai_messages WHERE id = :id
