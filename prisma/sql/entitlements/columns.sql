-- The columns of an Entitlement, from the tables of `customer`, without what is used.
-- @type type Schemas['FeatureType']
-- @type source Schemas['Entitlement']['source']
f.key AS feature, f.id AS feature_id, f.type,
coalesce(o.enabled, p.feature_id IS NOT NULL) AS "enabled!",
trim_scale(l.maximum) AS "limit?",
CASE WHEN o.feature_id IS NOT NULL THEN 'override' WHEN p.feature_id IS NOT NULL THEN 'product' ELSE 'none'
  END AS "source!",
o.expires_at AS "expires_at?"
