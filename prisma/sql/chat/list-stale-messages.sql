-- The answers in progress whose process died: all of them, or only the message with the given id.
-- @many
SELECT id FROM ai_messages
WHERE status = 'in_progress' AND {is-stale column=heartbeat_at} AND (:id?::text IS NULL OR id = :id)
LIMIT :limit
