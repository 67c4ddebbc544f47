-- The usage of an API key today.
-- @one
SELECT {today}::text AS day, coalesce(u.requests, 0) AS requests,
  coalesce(u.prompt_tokens, 0) AS prompt_tokens, coalesce(u.completion_tokens, 0) AS completion_tokens,
  coalesce(u.cost_micros, 0) AS cost_micros
FROM (SELECT 1) AS one LEFT JOIN ai_usage u ON u.api_key_id = :api_key_id AND u.day = {today}
