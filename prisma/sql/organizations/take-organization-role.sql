-- Ends what the role in an organization gave a member in its projects.
-- @none
WITH removed AS (
  DELETE FROM members m USING projects p
  WHERE p.id = m.project_id AND p.organization_id = :organization_id AND m.user_id = :user_id
    AND m.own_role IS NULL
)
UPDATE members m SET organization_role = NULL FROM projects p
WHERE p.id = m.project_id AND p.organization_id = :organization_id AND m.user_id = :user_id
  AND m.own_role IS NOT NULL AND m.organization_role IS NOT NULL
