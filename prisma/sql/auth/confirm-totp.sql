-- Confirms the secret that a code was made with, and notes the time step of the code. No row if it was
-- replaced or confirmed meanwhile.
-- @optional
UPDATE user_totp SET confirmed_at = now(), last_step = :step
WHERE user_id = :user_id AND secret = :secret AND confirmed_at IS NULL
RETURNING confirmed_at AS "confirmed_at!"
