-- Notes that a code was used. No row for a code of this or a later time step that was used before.
-- @optional
UPDATE user_totp SET last_step = :step
WHERE user_id = :user_id AND confirmed_at IS NOT NULL AND last_step < :step
RETURNING user_id
