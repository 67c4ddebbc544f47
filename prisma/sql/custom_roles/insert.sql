-- Inserts a custom role. Each area has a column with the built-in role that allows the same.
-- @one
INSERT INTO custom_roles AS t
  (id, organization_id, name, description, projects, storage, ai, payments, created_by, created_at)
VALUES (:id, :organization_id, :name, :description?, {role area='projects'}, {role area='storage'},
  {role area='ai'}, {role area='payments'}, :created_by, :created_at)
RETURNING {columns}
