-- Locks the password of a user against a change. No row if it has another hash meanwhile.
-- @optional
SELECT user_id FROM user_passwords WHERE user_id = :user_id AND hash = :hash FOR SHARE
