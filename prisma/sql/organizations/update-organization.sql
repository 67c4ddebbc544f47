-- Updates a locked organization.
-- @one
UPDATE organizations o SET name = :name, description = :description?, metadata = :metadata
WHERE o.id = :id
RETURNING {organization-columns}
