-- Gives the projects of an organization whose `owner_id` is the user to another owner of the organization.
-- @none
UPDATE projects p SET version = version + 1, owner_id = o.user_id,
  updated_at = {times/next-updated-at}
FROM (
  SELECT user_id FROM organization_members
  WHERE organization_id = :organization_id AND role = 'owner' AND status = 'active' AND user_id <> :user_id
  ORDER BY created_at, id LIMIT 1
) o
WHERE p.organization_id = :organization_id AND p.owner_id = :user_id
