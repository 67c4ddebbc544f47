-- Moves a session to its next refresh token. No row if the token is not the latest one, or if the session or
-- its user has ended.
-- @optional
UPDATE sign_ins s SET generation = s.generation + 1, refreshed_at = {next-refreshed-at},
  updated_at = now(), last_used_at = now(), ip = :ip?, network = :network,
  expires_at = least(now() + interval '1 second' * :idle_seconds,
    s.created_at + interval '1 second' * :max_seconds)
FROM users u
WHERE s.id = :id AND s.generation = :generation AND s.expires_at > now()
  AND u.id = s.user_id AND u.status = 'active'
RETURNING {session-columns}
