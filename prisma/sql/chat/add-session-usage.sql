-- Adds the tokens of an answer to its session.
-- @none
UPDATE ai_sessions SET prompt_tokens = prompt_tokens + :prompt_tokens,
  completion_tokens = completion_tokens + :completion_tokens, last_message_at = now(), updated_at = now()
WHERE id = :id
