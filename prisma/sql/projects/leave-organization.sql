-- Ends what the organization of a project gave its members: a membership, or a custom role.
-- @none
WITH removed AS (DELETE FROM members WHERE project_id = :project_id AND own_role IS NULL)
UPDATE members SET organization_role = NULL, custom_role_id = NULL
WHERE project_id = :project_id AND own_role IS NOT NULL
  AND (organization_role IS NOT NULL OR custom_role_id IS NOT NULL)
