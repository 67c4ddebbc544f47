-- The answers of a session in progress.
-- @many
SELECT id, {is-stale column=heartbeat_at} AS "is_stale!"
FROM ai_messages WHERE session_id = :session_id AND status = 'in_progress'
