-- The membership or invitation that already exists for a user or an email address.
-- @optional
-- @type status Schemas['OrganizationMember']['status']
SELECT m.id, {member-status} AS status
FROM organization_members m LEFT JOIN users u ON u.id = m.user_id
WHERE m.organization_id = :organization_id
  AND (m.user_id = :user_id? OR m.email = :email? OR (u.email = :email? AND m.status = 'active'))
ORDER BY m.status DESC LIMIT 1
