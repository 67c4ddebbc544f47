-- Inserts a product.
-- @one
INSERT INTO products AS t (id, name, organization_id, description, active, metadata, created_by, created_at, updated_at)
VALUES (:id, :name, :organization_id?, :description?, :active, :metadata, :created_by?, :created_at, :created_at)
RETURNING {columns}
