-- The seller of a product, a price or an order: an organization, or null for the operator.
-- @optional
SELECT organization_id FROM products WHERE id = :id
UNION ALL
SELECT organization_id FROM prices WHERE id = :id
UNION ALL
SELECT seller_organization_id FROM orders WHERE id = :id
