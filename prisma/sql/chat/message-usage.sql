-- The column `usage` of the message `m`.
-- @type usage Schemas['Usage']
jsonb_build_object('prompt_tokens', m.prompt_tokens, 'completion_tokens', m.completion_tokens,
  'total_tokens', m.prompt_tokens + m.completion_tokens, 'cost_micros', m.cost_micros) AS usage
