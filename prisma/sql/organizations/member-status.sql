-- The status of the member `m`. In the table, an expired invitation is `invited`, and so is one whose author
-- may no longer give its role.
CASE WHEN m.status = 'invited' AND (
    m.expires_at <= now() OR NOT may_give_in_organization(m.created_by, m.organization_id, m.role)
  ) THEN 'expired' ELSE m.status::text END
