-- A passkey.
-- @optional
SELECT {passkey-columns} FROM passkeys p WHERE p.id = :id
