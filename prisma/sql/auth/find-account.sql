-- An active user by email address; an invitation to a project that waits for the address counts, too.
-- @one
SELECT (SELECT id FROM users WHERE email = :email AND status = 'active') AS "user_id?",
  EXISTS (SELECT 1 FROM users WHERE email = :email) AS "is_taken!",
  EXISTS (SELECT 1 FROM invitations WHERE email = :email AND status = 'pending'
    AND expires_at > now()) AS "is_invited!"
