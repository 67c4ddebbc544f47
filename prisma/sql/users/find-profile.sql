-- The profile of a user who is not deleted, with the role.
-- @optional
SELECT {user-columns} FROM users u WHERE u.id = :id AND u.status <> 'deleted'
