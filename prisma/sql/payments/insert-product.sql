-- Inserts a product.
-- @one
WITH p AS (
  INSERT INTO products (id, name, description, metadata, created_at, updated_at)
  VALUES (:id, :name, :description?, :metadata, :created_at, :created_at) RETURNING *
)
SELECT {product-columns} FROM p
