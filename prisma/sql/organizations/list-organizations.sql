-- The organizations that a user is a member of, or is invited to by id or by verified email address: those
-- who are only invited see the name.
-- @page
-- @type your_membership Schemas['Organization']['your_membership']
-- @type metadata Record<string, string>
SELECT o.id, o.name, CASE WHEN m.status = 'active' THEN o.description END AS description,
  CASE WHEN m.status = 'active' THEN o.metadata ELSE '{}' END AS metadata, o.created_by, o.created_at,
  o.updated_at, {membership} AS your_membership
FROM users u
  JOIN organization_members m ON m.user_id = u.id OR (m.email = u.email AND u.email_verified)
  JOIN organizations o ON o.id = m.organization_id
WHERE u.id = :user_id
-- @common o.created_at o.updated_at o.metadata
-- @filter status
{member-status} = :status
-- @sort created_at
o.created_at
-- @sort updated_at
o.updated_at
-- @sort name
lower(o.name)
-- @id
o.id
