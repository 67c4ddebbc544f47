-- The usage of a user on each of the last days, including today.
-- @many
SELECT d.day::date::text AS "day!", coalesce(u.requests, 0) AS requests, coalesce(u.errors, 0) AS errors,
  coalesce(u.downloaded_bytes, 0) AS downloaded_bytes,
  CASE WHEN d.day = {chat/today}
    THEN coalesce((SELECT bytes + version_bytes FROM storage_usage WHERE workspace_id = :user_id), 0)
    ELSE coalesce((
      SELECT storage_bytes FROM usage_days WHERE user_id = :user_id AND day <= d.day ORDER BY day DESC LIMIT 1
    ), 0)
  END AS "storage_bytes!",
  coalesce(t.prompt_tokens, 0)::bigint AS prompt_tokens,
  coalesce(t.completion_tokens, 0)::bigint AS completion_tokens
FROM generate_series({chat/today} - (:days::int - 1), {chat/today}, interval '1 day') AS d(day)
LEFT JOIN usage_days u ON u.user_id = :user_id AND u.day = d.day
LEFT JOIN (
  SELECT day, sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens
  FROM ai_usage WHERE user_id = :user_id AND day > {chat/today} - :days::int GROUP BY day
) t ON t.day = d.day
ORDER BY d.day
