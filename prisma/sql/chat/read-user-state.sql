-- The answers of a user in progress, the tokens that the user has used today, and the seconds until the day
-- (UTC) ends; and the body and the answer of the earlier request with this Idempotency-Key, which are null
-- if there is none. If the answer of an Idempotency-Key was replaced or deleted, the key is stored with the
-- question (see `delete-messages-after`). The answer is then the message after the question.
-- @one
SELECT (
    SELECT count(*) FROM ai_messages
    WHERE user_id IN (SELECT users_sharing_limits(:user_id)) AND status = 'in_progress'
      AND {is-alive column=heartbeat_at}
  )::int AS open,
  {tokens-used} AS tokens,
  ceil(extract(epoch FROM
    date_trunc('day', now() AT TIME ZONE 'UTC') + interval '1 day' - (now() AT TIME ZONE 'UTC')))::int
    AS seconds_left,
  m.body_hash, a.id AS answer_id, a.status, {is-stale column=a.heartbeat_at} AS is_stale
FROM (SELECT 1) AS one
  LEFT JOIN ai_messages m
    ON m.user_id = :user_id AND m.key_digest = :key_digest? AND m.created_at > now() - interval '24 hours'
  LEFT JOIN LATERAL (SELECT CASE m.role WHEN 'user' THEN (
    SELECT n.id FROM ai_messages n
    WHERE n.session_id = m.session_id AND n.position > m.position AND n.role = 'assistant'
    ORDER BY n.position LIMIT 1
  ) ELSE m.id END AS id) AS answering ON true
  LEFT JOIN ai_messages a ON a.id = answering.id
