-- The avatar of a user.
-- @optional
SELECT {avatar-columns} FROM avatars WHERE user_id = :user_id
