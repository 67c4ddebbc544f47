-- The status of the invitation `i`. In the table, an expired invitation is `pending`, and so is one that
-- ended because the user who created it left the project, or may no longer give its role.
CASE WHEN i.status <> 'pending' THEN i.status::text
  WHEN NOT may_give(i.created_by, i.project_id, i.role, i.role, i.role, i.role) OR NOT EXISTS (
    SELECT FROM members a WHERE a.project_id = i.project_id AND a.user_id = i.created_by
      AND a.created_at <= i.created_at
  ) THEN 'revoked'
  WHEN i.expires_at <= now() THEN 'expired' ELSE 'pending' END
