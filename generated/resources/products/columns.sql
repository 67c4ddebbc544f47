-- The columns of a product, from products t.
-- @type metadata Schemas['Product']['metadata']
t.id, t.name, t.description, t.active, t.metadata, t.created_at, t.updated_at
