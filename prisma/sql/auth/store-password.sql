-- Sets the password of a user.
-- @none
INSERT INTO user_passwords (user_id, hash, changed_at) VALUES (:user_id, :hash, now())
ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, changed_at = excluded.changed_at
