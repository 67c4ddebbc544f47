-- Stores a new secret that is not confirmed yet. No row if the user has a confirmed one.
-- @optional
INSERT INTO user_totp AS t (user_id, secret) VALUES (:user_id, :secret)
ON CONFLICT (user_id) DO UPDATE SET secret = excluded.secret WHERE t.confirmed_at IS NULL
RETURNING t.user_id
