-- Ends what the organization of a project gave its members: a membership, or a custom role. A member with a
-- custom role keeps the least of what it allows, and is no member if it allows nothing somewhere. The service
-- accounts of the organization leave.
-- @none
WITH removed AS (
  DELETE FROM members m USING projects p WHERE p.id = m.project_id AND m.project_id = :project_id AND (
    m.own_role IS NULL
    OR EXISTS (SELECT FROM custom_roles c WHERE c.id = m.custom_role_id
      AND (c.storage IS NULL OR c.ai IS NULL OR c.payments IS NULL))
    OR EXISTS (SELECT FROM service_accounts s
      WHERE s.user_id = m.user_id AND s.organization_id = p.organization_id)
  )
  RETURNING m.id
)
UPDATE members m SET organization_role = NULL, custom_role_id = NULL, own_role = coalesce(
    (SELECT greatest(c.projects, c.storage, c.ai, c.payments) FROM custom_roles c
     WHERE c.id = m.custom_role_id),
    m.own_role
  )
WHERE m.project_id = :project_id AND (m.organization_role IS NOT NULL OR m.custom_role_id IS NOT NULL)
  AND m.id NOT IN (SELECT id FROM removed)
