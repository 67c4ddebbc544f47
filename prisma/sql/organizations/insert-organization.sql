-- Inserts an organization with its owner.
-- @one
-- @type your_membership Schemas['Organization']['your_membership']
WITH o AS (
  INSERT INTO organizations (id, name, description, metadata, created_by, limits_of, created_at)
  VALUES (:id, :name, :description?, :metadata, :user_id, :user_id, :created_at)
  RETURNING *
), m AS (
  INSERT INTO organization_members (id, organization_id, user_id, role, status, accepts_limits, created_at)
  SELECT :member_id, o.id, :user_id, 'owner', 'active', true, :created_at FROM o
  RETURNING *
)
SELECT {organization-columns}, {membership} AS your_membership FROM o CROSS JOIN m
