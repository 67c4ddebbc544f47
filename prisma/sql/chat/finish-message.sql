-- Finishes an answer in progress: stores its status, content and tokens. Returns no row if it was already
-- finished. Without :keep_idempotency_key, a later request with the same Idempotency-Key generates a new
-- answer.
-- @optional
UPDATE ai_messages SET
  status = :status,
  finish_reason = :finish_reason?,
  prompt_tokens = :prompt_tokens,
  completion_tokens = :completion_tokens,
  cost_micros = :cost_micros?,
  provider = :provider?,
  content = :content,
  citations = :citations,
  tool_calls = :tool_calls?,
  refusal = :refusal?,
  error = :error?,
  searched = searched || jsonb_strip_nulls(jsonb_build_object('passages', :passages?::int)),
  heartbeat_at = NULL,
  key_digest = CASE WHEN :keep_idempotency_key THEN key_digest END
WHERE id = :id AND status = 'in_progress'
RETURNING session_id
