-- Inserts a project with its owner as the first member. The trigger that counts members runs after the row is
-- returned, so `member_count` is 0.
-- @one
-- @type your_role 'owner'
WITH p AS (
  INSERT INTO projects (id, {project-fields}, owner_id, organization_id, created_by, created_at,
    updated_at)
  VALUES (:id, {:project-fields}, :owner_id, :organization_id?, :created_by, :created_at, :created_at)
  RETURNING *
), m AS (
  INSERT INTO members (id, project_id, user_id, role, own_role, created_at)
  SELECT :member_id, p.id, p.owner_id, 'owner', 'owner', :created_at FROM p
)
SELECT {project-columns}, 'owner' AS your_role FROM p
