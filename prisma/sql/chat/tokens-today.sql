-- The tokens that a user, and those who share the user's limits, have used today.
coalesce((
  SELECT sum(prompt_tokens + completion_tokens)::bigint FROM ai_usage
  WHERE user_id IN (SELECT users_sharing_limits(:user_id)) AND day = {chat/today}
), 0)
