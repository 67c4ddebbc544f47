-- The columns of a Product, from products p.
-- @type metadata Record<string, string>
p.id, p.name, p.description, p.active, p.metadata, p.created_at, p.updated_at
