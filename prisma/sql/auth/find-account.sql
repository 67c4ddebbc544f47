-- An active user by verified email address, and whether an invitation to a project or an organization waits
-- for the address.
-- @one
SELECT (SELECT id FROM users WHERE email = :email AND status = 'active' AND email_verified) AS "user_id?",
  EXISTS (SELECT 1 FROM users WHERE email = :email) AS "is_taken!",
  EXISTS (SELECT 1 FROM invitations i WHERE i.email = :email AND {projects/invitation-status} = 'pending')
    OR EXISTS (SELECT 1 FROM organization_members m
      WHERE m.email = :email AND {organizations/member-status} = 'invited')
    AS "is_invited!"
