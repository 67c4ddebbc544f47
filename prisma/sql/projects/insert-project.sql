-- Inserts a project with its owner as the first member.
-- @none
WITH p AS (
  INSERT INTO projects (id, {project-fields}, owner_id, organization_id, created_by, created_at,
    updated_at)
  VALUES (:id, {:project-fields}, :owner_id, :organization_id?, :created_by?, :created_at, :created_at)
  RETURNING id, owner_id
)
INSERT INTO members (id, project_id, user_id, role, own_role, created_at)
SELECT :member_id, p.id, p.owner_id, 'owner', 'owner', :created_at FROM p
