-- The identities of a user.
-- @page
SELECT {identity-columns}
FROM identities i
WHERE i.user_id = :user_id
-- @common i.id=idn i.updated_at
-- @sort created_at
i.id
-- @id
i.id
