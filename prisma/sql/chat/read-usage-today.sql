-- The usage of a user today.
-- @one
SELECT {today}::text AS day, coalesce(sum(requests), 0)::int AS requests,
  coalesce(sum(prompt_tokens), 0)::bigint AS prompt_tokens,
  coalesce(sum(completion_tokens), 0)::bigint AS completion_tokens,
  coalesce(sum(cost_micros), 0)::bigint AS cost_micros
FROM ai_usage WHERE user_id = :user_id AND day = {today}
