-- The features that a product or an override decides about.
-- @page
SELECT f.id, {columns}
{customer}
WHERE c.id = :customer_id AND (o.feature_id IS NOT NULL OR p.feature_id IS NOT NULL)
-- @sort feature
f.key
-- @id
f.id
