-- The passkeys of a user, newest first.
-- @many
SELECT {passkey-columns} FROM passkeys p WHERE p.user_id = :user_id ORDER BY p.id DESC LIMIT :limit
