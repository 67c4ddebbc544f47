-- Stores answers in progress with a heartbeat. Returns those that are still in progress.
-- @many
UPDATE ai_messages m SET content = w.content, citations = w.citations::jsonb,
  prompt_tokens = w.prompt_tokens, heartbeat_at = now()
FROM unnest(:ids::text[], :contents::text[], :citations::text[], :prompt_tokens::int[])
  AS w (id, content, citations, prompt_tokens)
WHERE m.id = w.id AND m.status = 'in_progress' RETURNING m.id
