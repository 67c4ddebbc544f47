-- The API keys of a user.
-- @page
SELECT {api-key-columns}
FROM api_keys k
WHERE k.user_id = :user_id
-- @sort created_at
k.created_at
-- @sort name
lower(k.name)
-- @id
k.id
