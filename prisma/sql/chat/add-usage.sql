-- Counts an answer and its tokens to the day's usage of a user's API key.
-- @one
WITH counted AS (
  INSERT INTO ai_usage AS u
    (user_id, api_key_id, day, limits_of, requests, prompt_tokens, completion_tokens, cost_micros)
  VALUES (:user_id, :api_key_id, {today}, limits_of(:user_id), 1, :prompt_tokens, :completion_tokens,
    :cost_micros)
  ON CONFLICT (api_key_id, day, limits_of) DO UPDATE SET requests = u.requests + 1,
    prompt_tokens = u.prompt_tokens + :prompt_tokens,
    completion_tokens = u.completion_tokens + :completion_tokens, cost_micros = u.cost_micros + :cost_micros
  RETURNING day
)
SELECT count_usage(:user_id, day, :api_key_id, coalesce(:project_id?, ''), :model, 0, 0, 0, 1, :prompt_tokens,
  :completion_tokens, :cost_micros)
  + count_budgets(:user_id, :api_key_id, coalesce(:project_id?, ''), 1,
    :prompt_tokens::bigint + :completion_tokens::bigint, :cost_micros) AS n
FROM counted
