-- `tokens-today`, and those that their answers in progress have reserved.
{chat/tokens-today} + coalesce((
  SELECT sum(reserved_tokens)::bigint FROM ai_messages
  WHERE user_id IN (SELECT users_sharing_limits(:user_id)) AND status = 'in_progress'
      AND {chat/is-alive column=heartbeat_at}
), 0)
