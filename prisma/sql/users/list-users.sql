-- The active and disabled users, without service accounts. `pattern` is a LIKE pattern.
-- @page
SELECT {user-columns}
FROM users u
WHERE u.status <> 'deleted' AND NOT EXISTS (SELECT FROM service_accounts a WHERE a.user_id = u.id)
-- @common u.created_at u.updated_at u.metadata
-- @filter status
u.status = ANY(:status)
-- @filter role
u.role = ANY(:role)
-- @filter email
u.email = lower(:email)
-- @filter pattern searches
u.name ILIKE :pattern OR u.email LIKE lower(:pattern)
-- @sort created_at
u.created_at
-- @sort updated_at
u.updated_at
-- @sort name
lower(u.name)
-- @sort email
u.email
-- @id
u.id
