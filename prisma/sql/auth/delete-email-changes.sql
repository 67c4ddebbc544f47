-- Deletes the tokens of earlier changes of a user's address.
-- @none
DELETE FROM one_time_tokens WHERE user_id = :user_id AND purpose = 'email_change'
