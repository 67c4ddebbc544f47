-- Deletes the one-time tokens of a user: those that were sent to the address, and those that change it.
-- @none
DELETE FROM one_time_tokens WHERE user_id = :user_id OR email = :email
