-- Inserts a meter.
-- @one
INSERT INTO meters AS t (id, organization_id, key, name, aggregation, property, unit, dimensions, source, active, metadata, created_by, created_at, updated_at)
VALUES (:id, :organization_id?, :key, :name, :aggregation, :property?, :unit?, :dimensions, :source?, :active, :metadata, :created_by?, :created_at, :created_at)
RETURNING {columns}
