-- Updates a locked meter.
-- @one
UPDATE meters t SET name = :name, unit = :unit?, active = :active, metadata = :metadata, updated_at = :updated_at
WHERE t.id = :id
RETURNING {columns}
