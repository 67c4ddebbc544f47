-- Counts tokens to the usage of a user today, unless the user then has more than the limit, which is 0 for
-- none. The user must be locked. No row if they are not counted.
-- @optional
WITH charged AS (
  INSERT INTO ai_usage AS u
    (user_id, api_key_id, day, limits_of, requests, prompt_tokens, completion_tokens, cost_micros)
  SELECT :user_id, :api_key_id, {today}, limits_of(:user_id), 0, :tokens, 0, :cost_micros
  WHERE (:tokens_per_day::bigint = 0 OR {tokens-used} + :tokens::bigint <= :tokens_per_day::bigint)
    AND (:is_reserved OR reserve_budgets(:user_id, coalesce(:credential_id?, ''), coalesce(:project_id?, ''),
      false, :heartbeat_timeout_seconds) IS NOT NULL)
  ON CONFLICT (api_key_id, day, limits_of) DO UPDATE
    SET prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
      cost_micros = u.cost_micros + excluded.cost_micros
  RETURNING day, limits_of
)
SELECT day::text, limits_of, now() AS charged_at, {count-prompt-tokens at=now()} AS counted FROM charged
