-- Gives a locked organization limits of its own, or lets it share those of its longest-standing owner who
-- agreed to be one. No row for an unknown organization.
-- @optional
UPDATE organizations o SET limits_of = CASE WHEN NOT :own::boolean THEN coalesce(o.limits_of, (
  SELECT m.user_id FROM organization_members m
  WHERE m.organization_id = o.id AND m.role = 'owner' AND m.status = 'active'
  ORDER BY NOT m.accepts_limits, m.created_at, m.id LIMIT 1
)) END
WHERE o.id = :id
RETURNING o.limits_of AS "limits_of?"
