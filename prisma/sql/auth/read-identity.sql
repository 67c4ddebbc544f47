-- An identity.
-- @optional
SELECT {identity-columns} FROM identities i WHERE i.id = :id
