-- The API keys of a user.
-- @page
SELECT {api-key-columns}
FROM api_keys k
WHERE k.user_id = :user_id
-- @common k.created_at k.updated_at k.metadata
-- @filter active
(k.revoked_at IS NULL AND coalesce(k.expires_at > now(), true)) = :active
-- @filter created_by
k.created_by = :created_by
-- @filter family_of
k.id IN ({key-family})
-- @sort created_at
k.created_at
-- @sort name
lower(k.name)
-- @sort updated_at
k.updated_at
-- @id
k.id
