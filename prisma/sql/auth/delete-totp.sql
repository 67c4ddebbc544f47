-- Removes the second factor of a user with its recovery codes.
-- @none
WITH codes AS (DELETE FROM recovery_codes WHERE user_id = :user_id)
DELETE FROM user_totp WHERE user_id = :user_id
