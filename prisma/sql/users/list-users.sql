-- The active and disabled users. `pattern` is a LIKE pattern.
-- @page
SELECT {user-columns}
FROM users u
WHERE u.status <> 'deleted'
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
