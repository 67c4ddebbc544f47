-- The features of a product, in the order of the seller.
-- @many
-- @type type Schemas['FeatureType']
SELECT f.id AS feature_id, f.key, f.type, trim_scale(p.limit_value) AS "limit?"
FROM product_features p JOIN features f ON f.id = p.feature_id
WHERE p.product_id = :product_id
ORDER BY p.position
