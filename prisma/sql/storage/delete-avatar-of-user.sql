-- Deletes the avatar of a user. A trigger queues its blobs for deletion.
-- @none
DELETE FROM avatars WHERE user_id = :user_id
