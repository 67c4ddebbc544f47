-- Updates a locked price.
-- @one
UPDATE prices t SET organization_id = :organization_id?, active = :active, metadata = :metadata, updated_at = :updated_at
WHERE t.id = :id
RETURNING {columns}
