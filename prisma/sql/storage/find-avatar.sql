-- An avatar by its id.
-- @optional
SELECT {avatar-columns} FROM avatars WHERE id = :id
