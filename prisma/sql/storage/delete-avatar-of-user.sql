-- Deletes the avatar of a user. A trigger puts its blobs into quarantine.
-- @none
DELETE FROM avatars WHERE user_id = :user_id
