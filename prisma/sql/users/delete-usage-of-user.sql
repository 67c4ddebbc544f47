-- Deletes the usage of a user by day.
-- @none
DELETE FROM usage_days WHERE user_id = :id
