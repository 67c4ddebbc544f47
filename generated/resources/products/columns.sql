-- The columns of a product, from products t.
-- @type organization_id Schemas['Product']['organization_id']
-- @type metadata Schemas['Product']['metadata']
-- @type created_by Schemas['Product']['created_by']
t.id, t.name, t.organization_id, t.description, t.active, t.metadata, t.created_by, t.created_at, t.updated_at
