-- Renames a passkey.
-- @one
UPDATE passkeys p SET name = :name WHERE p.id = :id
RETURNING {passkey-columns}
