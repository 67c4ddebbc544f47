-- Inserts a feature.
-- @one
INSERT INTO features AS t (id, organization_id, key, name, type, meter_id, active, metadata, created_by, created_at, updated_at)
VALUES (:id, :organization_id?, :key, :name, :type, :meter_id?, :active, :metadata, :created_by?, :created_at, :created_at)
RETURNING {columns}
