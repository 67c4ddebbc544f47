-- The passkeys of a user.
-- @page
SELECT {passkey-columns}
FROM passkeys p
WHERE p.user_id = :user_id
-- @common p.id=pky p.updated_at
-- @sort created_at
p.id
-- @id
p.id
