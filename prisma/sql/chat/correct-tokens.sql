-- Corrects the tokens that were counted to the usage of a day.
-- @optional
WITH corrected AS (
  UPDATE ai_usage SET prompt_tokens = prompt_tokens + :tokens::bigint,
    cost_micros = cost_micros + :cost_micros::bigint
  WHERE api_key_id = :api_key_id AND day = :day::text::date AND limits_of = :limits_of
  RETURNING day
)
SELECT {count-prompt-tokens} AS counted FROM corrected
