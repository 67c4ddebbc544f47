-- Stores the end of an answer, unless it is already finished.
-- @optional
UPDATE ai_messages SET status = :status, finish_reason = :finish_reason?, prompt_tokens = :prompt_tokens,
  completion_tokens = :completion_tokens, content = :content, citations = :citations, error = :error?,
  heartbeat_at = NULL, key_digest = CASE WHEN :keep_idempotency_key THEN key_digest END
WHERE id = :id AND status = 'in_progress' RETURNING session_id
