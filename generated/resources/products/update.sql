-- Updates a locked product.
-- @one
UPDATE products t SET name = :name, description = :description?, active = :active, metadata = :metadata, updated_at = :updated_at
WHERE t.id = :id
RETURNING {columns}
