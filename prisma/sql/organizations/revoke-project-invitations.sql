-- Revokes the pending invitations of a user to the projects of an organization.
-- @none
UPDATE invitations i SET status = 'revoked' FROM projects p, users u
WHERE p.id = i.project_id AND p.organization_id = :organization_id AND u.id = :user_id
  AND i.status = 'pending' AND (i.user_id = u.id OR i.email = u.email)
