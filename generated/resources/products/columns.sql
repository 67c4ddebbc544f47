-- The columns of a product, from products t.
-- @type metadata Schemas['Product']['metadata']
-- @type created_by Schemas['Product']['created_by']
t.id, t.name, t.description, t.active, t.metadata, t.created_by, t.created_at, t.updated_at
