-- The state of an answer without its content, which may be large.
-- @optional
SELECT status, octet_length(content) + jsonb_array_length(citations) AS size,
  coalesce({is-alive column=heartbeat_at}, false) AS alive
FROM ai_messages WHERE id = :id
