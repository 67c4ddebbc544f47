-- The columns of a User that is not deleted, from users u.
-- @type status Schemas['User']['status']
-- @type metadata Record<string, string>
u.id, u.email AS "email!", u.email_verified, u.name, u.bio, u.locale, u.timezone,
:origin || u.avatar_url AS avatar_url, u.status,
u.role, u.metadata, u.created_at, u.updated_at
