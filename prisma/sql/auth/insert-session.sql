-- Creates a session. The oldest sessions of the user beyond a hundred end.
-- @one
WITH surplus AS (
  DELETE FROM sign_ins WHERE id IN (
    SELECT id FROM sign_ins WHERE user_id = :user_id ORDER BY last_used_at DESC, id DESC OFFSET 99
  )
)
INSERT INTO sign_ins AS s (id, user_id, methods, ip, network, device, created_at, updated_at, last_used_at,
  expires_at)
VALUES (:id, :user_id, :methods::text[], :ip?, :network, :device?, :created_at::timestamptz,
  :created_at::timestamptz, :created_at::timestamptz,
  :created_at::timestamptz + interval '1 second' * :idle_seconds)
RETURNING {session-columns}
