-- Updates a locked feature.
-- @one
UPDATE features t SET name = :name, active = :active, metadata = :metadata, updated_at = :updated_at
WHERE t.id = :id
RETURNING {columns}
