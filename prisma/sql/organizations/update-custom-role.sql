-- Updates a custom role of a locked organization.
-- @one
UPDATE custom_roles r SET name = :name, description = :description?, projects = :projects,
  storage = :storage?, ai = :ai?, payments = :payments?
WHERE r.id = :id
RETURNING {custom-role-columns}
