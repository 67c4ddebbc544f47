-- Inserts a custom role.
-- @one
INSERT INTO custom_roles AS r
  (id, organization_id, name, description, projects, storage, ai, payments, created_by, created_at)
VALUES (:id, :organization_id, :name, :description?, :projects, :storage?, :ai?, :payments?, :created_by,
  :created_at)
RETURNING {custom-role-columns}
