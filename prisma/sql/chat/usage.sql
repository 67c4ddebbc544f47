-- The column `usage`, from the two token counts of the session `row`.
-- @type usage Schemas['Usage']
jsonb_build_object('prompt_tokens', {row}.prompt_tokens,
  'completion_tokens', {row}.completion_tokens,
  'total_tokens', {row}.prompt_tokens + {row}.completion_tokens) AS usage
