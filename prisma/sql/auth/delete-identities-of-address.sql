-- Removes the identities with an address that is no longer that of their user.
-- @many
DELETE FROM identities i WHERE i.user_id = :user_id AND i.email = :email
RETURNING {identity-columns}
