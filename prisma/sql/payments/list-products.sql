-- The products. `q` is a LIKE pattern for their names.
-- @page
SELECT {product-columns}
FROM products p
WHERE true
-- @common p.id=prod p.updated_at p.metadata
-- @filter active
p.active = :active
-- @filter q searches
lower(p.name) LIKE lower(:q)
-- @sort created_at
p.id
-- @sort name
lower(p.name)
-- @sort updated_at
p.updated_at
-- @id
p.id
