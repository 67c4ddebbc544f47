-- The identities of a user, newest first.
-- @many
SELECT {identity-columns} FROM identities i WHERE i.user_id = :user_id ORDER BY i.id DESC LIMIT :limit
