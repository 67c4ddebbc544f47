-- The prices.
-- @page
SELECT {price-columns}
FROM prices p
WHERE true
-- @common p.id=prc p.updated_at p.metadata
-- @filter product_id
p.product_id = :product_id
-- @filter currency
p.currency = :currency
-- @filter active
p.active = :active
-- @sort created_at
p.id
-- @sort unit_amount
p.unit_amount
-- @sort updated_at
p.updated_at
-- @id
p.id
