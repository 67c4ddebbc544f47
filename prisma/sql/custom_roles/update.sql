-- Updates a custom role of a locked organization.
-- @one
UPDATE custom_roles t SET name = :name, description = :description?, projects = {role area='projects'},
  storage = {role area='storage'}, ai = {role area='ai'}, payments = {role area='payments'}
WHERE t.id = :id
RETURNING {columns}
