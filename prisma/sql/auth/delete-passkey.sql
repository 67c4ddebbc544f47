-- Removes a passkey.
-- @none
DELETE FROM passkeys WHERE id = :id
