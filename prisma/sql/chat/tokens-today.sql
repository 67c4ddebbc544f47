-- The tokens that a user has used today.
coalesce((
  SELECT sum(prompt_tokens + completion_tokens)::bigint FROM ai_usage
  WHERE user_id = :user_id AND day = {chat/today}
), 0)
