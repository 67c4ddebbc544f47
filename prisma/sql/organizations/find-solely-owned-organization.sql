-- An organization that has no owner besides the user.
-- @optional
SELECT m.organization_id AS id FROM organization_members m
WHERE m.user_id = :user_id AND m.role = 'owner' AND m.status = 'active'
  AND NOT EXISTS (
    SELECT 1 FROM organization_members o
    WHERE o.organization_id = m.organization_id AND o.role = 'owner' AND o.status = 'active'
      AND o.user_id <> :user_id
  )
LIMIT 1
