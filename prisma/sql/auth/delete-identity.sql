-- Removes an identity of a user.
-- @none
DELETE FROM identities WHERE id = :id
