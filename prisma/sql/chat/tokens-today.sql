-- The tokens that a user, and those who share the user's limits, have used today.
coalesce((
  SELECT sum(prompt_tokens + completion_tokens)::bigint FROM ai_usage
  WHERE limits_of = limits_of(:user_id) AND day = {chat/today}
), 0)
