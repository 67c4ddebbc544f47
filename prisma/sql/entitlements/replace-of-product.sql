-- Replaces the features of a locked product.
-- @none
WITH given AS (
  SELECT * FROM unnest(:feature_ids::text[], :limits[?]::text[]) WITH ORDINALITY
    AS g (feature_id, limit_value, position)
), removed AS (
  DELETE FROM product_features WHERE product_id = :product_id
    AND feature_id NOT IN (SELECT feature_id FROM given)
)
INSERT INTO product_features (product_id, feature_id, limit_value, position)
SELECT :product_id, feature_id, limit_value::numeric, position::int FROM given
ON CONFLICT (product_id, feature_id) DO UPDATE SET limit_value = excluded.limit_value,
  position = excluded.position
