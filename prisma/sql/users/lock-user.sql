-- Locks a user that is not deleted.
-- @optional
SELECT id FROM users WHERE id = :id AND status <> 'deleted' FOR NO KEY UPDATE
