-- Creates a session.
-- @one
INSERT INTO sign_ins AS s (id, user_id, methods, ip, network, device, in_cookie, created_at, updated_at,
  last_used_at, expires_at)
VALUES (:id, :user_id, :methods::text[], :ip?, :network, :device?, :in_cookie, :created_at::timestamptz,
  :created_at::timestamptz, :created_at::timestamptz,
  :created_at::timestamptz + interval '1 second' * least(:idle_seconds::int, :max_seconds::int))
RETURNING {session-columns}
