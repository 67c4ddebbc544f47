-- Corrects the tokens that were counted to the usage of a day, and to budgets at :charged_at.
-- @optional
WITH corrected AS (
  UPDATE ai_usage SET prompt_tokens = prompt_tokens + :tokens::bigint,
    cost_micros = cost_micros + :cost_micros::bigint
  WHERE api_key_id = :api_key_id AND day = :day::text::date AND limits_of = :limits_of
  RETURNING day
)
SELECT {count-prompt-tokens at=:charged_at} AS counted FROM corrected
