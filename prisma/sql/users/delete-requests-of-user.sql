-- Deletes the recorded requests of a user.
-- @none
DELETE FROM api_requests WHERE user_id = :id
