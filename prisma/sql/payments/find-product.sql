-- A product.
-- @optional
SELECT {product-columns}
FROM products p
WHERE p.id = :id
