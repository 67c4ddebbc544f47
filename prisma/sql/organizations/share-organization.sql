-- The role of a user in an organization, null for none. Its members cannot change before the transaction
-- ends.
-- @optional
SELECT (SELECT m.role FROM organization_members m
  WHERE m.organization_id = o.id AND m.user_id = :user_id AND m.status = 'active') AS "role?"
FROM organizations o WHERE o.id = :id
FOR SHARE OF o
