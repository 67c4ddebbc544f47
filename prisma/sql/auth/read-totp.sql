-- The second factor of a user, and how many recovery codes are left.
-- @optional
SELECT t.secret, t.confirmed_at, t.last_step,
  (SELECT count(*) FROM recovery_codes r WHERE r.user_id = t.user_id)::int AS "recovery_codes_left!"
FROM user_totp t WHERE t.user_id = :user_id
