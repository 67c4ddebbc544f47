-- The tokens that a user has used today, and those that the user's answers in progress have reserved.
{chat/tokens-today} + coalesce((
  SELECT sum(reserved_tokens)::bigint FROM ai_messages
  WHERE user_id = :user_id AND status = 'in_progress' AND {chat/is-alive column=heartbeat_at}
), 0)
