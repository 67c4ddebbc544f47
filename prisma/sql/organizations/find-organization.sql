-- An organization and the membership of a user in it, or null.
-- @optional
-- @type your_membership Schemas['Organization']['your_membership']
SELECT {organization-columns},
  (SELECT {membership} FROM organization_members m
   WHERE m.organization_id = o.id AND m.user_id = :user_id AND m.status = 'active') AS "your_membership?"
FROM organizations o WHERE o.id = :id
