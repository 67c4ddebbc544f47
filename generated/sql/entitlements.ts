// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, none, one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Removes the override of a customer.
 * @see prisma/sql/entitlements/delete-override.sql
 */
export const deleteOverride = optional<{ customer_id: string; feature_id: string }, DeleteOverrideRow>(
  'entitlements/delete-override',
  `DELETE FROM entitlement_overrides WHERE customer_id = $1 AND feature_id = $2
RETURNING feature_id`,
  ['customer_id', 'feature_id'],
)
export interface DeleteOverrideRow {
  feature_id: string
}

/**
 * The entitlement of a customer to a feature, by the key of the feature, and the seller of both. A metered
 * feature has a period and the time of the customer, for `usage`.
 * @see prisma/sql/entitlements/find.sql
 */
export const find = optional<{ customer_id: string; feature: string }, FindRow>(
  'entitlements/find',
  `SELECT f.key AS feature, f.id AS feature_id, f.type,
coalesce(o.enabled, p.feature_id IS NOT NULL) AS "enabled",
trim_scale(l.maximum) AS "limit",
CASE WHEN o.feature_id IS NOT NULL THEN 'override' WHEN p.feature_id IS NOT NULL THEN 'product' ELSE 'none'
  END AS "source",
o.expires_at AS "expires_at", c.organization_id, f.meter_id, p.period_start AS "period_start",
  p.period_end AS "period_end", t.now AS "now"
FROM customers c
  CROSS JOIN LATERAL (
    SELECT statement_timestamp() + ((SELECT "offset" FROM payment_clock) + c.clock_offset)
      * interval '1 millisecond' AS now
  ) t
    JOIN features f ON f.organization_id = c.organization_id
    OR f.organization_id IS NULL AND c.organization_id IS NULL
  LEFT JOIN entitlement_overrides o ON o.customer_id = c.id AND o.feature_id = f.id
    AND (o.expires_at IS NULL OR o.expires_at > t.now)
  LEFT JOIN LATERAL (
    SELECT pf.feature_id, pf.limit_value, coalesce(s.began_at, s.period_start) AS period_start, s.period_end
    FROM subscriptions s
      JOIN prices pr ON pr.id = ANY(CASE WHEN s.items IS NULL THEN ARRAY[s.price_id]
        ELSE ARRAY(SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item) END)
      JOIN product_features pf ON pf.product_id = pr.product_id AND pf.feature_id = f.id
    WHERE s.customer_id = c.id AND s.status IN ('active', 'trialing', 'past_due')
    ORDER BY pf.limit_value DESC NULLS FIRST, s.period_end, s.id
    LIMIT 1
  ) p ON true
  CROSS JOIN LATERAL (
    SELECT CASE WHEN o.feature_id IS NULL THEN p.limit_value ELSE o.limit_value END AS maximum
  ) l
WHERE c.id = $1 AND c.deleted_at IS NULL AND f.key = $2`,
  ['customer_id', 'feature'],
  { reads: true },
)
export interface FindRow {
  feature: string
  feature_id: string
  type: Schemas['FeatureType']
  enabled: boolean
  limit: string | null
  source: Schemas['Entitlement']['source']
  expires_at: string | null
  organization_id: string | null
  meter_id: string | null
  period_start: string | null
  period_end: string | null
  now: string
}

/**
 * The features of a product, in the order of the seller.
 * @see prisma/sql/entitlements/list-of-product.sql
 */
export const listOfProduct = many<{ product_id: string }, ListOfProductRow>(
  'entitlements/list-of-product',
  `SELECT f.id AS feature_id, f.key, f.type, trim_scale(p.limit_value) AS "limit"
FROM product_features p JOIN features f ON f.id = p.feature_id
WHERE p.product_id = $1
ORDER BY p.position`,
  ['product_id'],
  { reads: true },
)
export interface ListOfProductRow {
  feature_id: string
  key: string
  type: Schemas['FeatureType']
  limit: string | null
}

/**
 * The features that a product or an override decides about.
 * @see prisma/sql/entitlements/list.sql
 */
export const list = page<{ customer_id: string }, {}, 'feature', ListRow>(
  'entitlements/list',
  {
    select: `SELECT f.id, f.key AS feature, f.id AS feature_id, f.type,
coalesce(o.enabled, p.feature_id IS NOT NULL) AS "enabled",
trim_scale(l.maximum) AS "limit",
CASE WHEN o.feature_id IS NOT NULL THEN 'override' WHEN p.feature_id IS NOT NULL THEN 'product' ELSE 'none'
  END AS "source",
o.expires_at AS "expires_at", m.used AS "used",
CASE WHEN l.maximum < m.used THEN 0 ELSE trim_scale(l.maximum - m.used) END AS "remaining",
m.resets_at AS "resets_at"
FROM customers c
  CROSS JOIN LATERAL (
    SELECT statement_timestamp() + ((SELECT "offset" FROM payment_clock) + c.clock_offset)
      * interval '1 millisecond' AS now
  ) t
    JOIN features f ON f.organization_id = c.organization_id
    OR f.organization_id IS NULL AND c.organization_id IS NULL
  LEFT JOIN entitlement_overrides o ON o.customer_id = c.id AND o.feature_id = f.id
    AND (o.expires_at IS NULL OR o.expires_at > t.now)
  LEFT JOIN LATERAL (
    SELECT pf.feature_id, pf.limit_value, coalesce(s.began_at, s.period_start) AS period_start, s.period_end
    FROM subscriptions s
      JOIN prices pr ON pr.id = ANY(CASE WHEN s.items IS NULL THEN ARRAY[s.price_id]
        ELSE ARRAY(SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item) END)
      JOIN product_features pf ON pf.product_id = pr.product_id AND pf.feature_id = f.id
    WHERE s.customer_id = c.id AND s.status IN ('active', 'trialing', 'past_due')
    ORDER BY pf.limit_value DESC NULLS FIRST, s.period_end, s.id
    LIMIT 1
  ) p ON true
  CROSS JOIN LATERAL (
    SELECT CASE WHEN o.feature_id IS NULL THEN p.limit_value ELSE o.limit_value END AS maximum
  ) l
  LEFT JOIN LATERAL (
        SELECT period.end AS resets_at, CASE WHEN (f.type='metered') THEN
  meter_quantity(f.meter_id, c.id, period.start, greatest(period.end, t.now + interval '5 minutes'))
END AS used
FROM (SELECT
  coalesce(p.period_start, date_trunc('month', t.now, 'UTC')) AS start,
  coalesce(p.period_end, (date_trunc('month', t.now AT TIME ZONE 'UTC') + interval '1 month')
    AT TIME ZONE 'UTC') AS "end"
) period
    WHERE f.type = 'metered'
  ) m ON true
WHERE c.id = $1 AND (o.feature_id IS NOT NULL OR p.feature_id IS NOT NULL)`,
    names: ['customer_id'],
    filters: {
    },
    sorts: {
      feature: `f.key`,
    },
    id: `f.id`,
    totals: {
    },
  },
)
export interface ListRow {
  id: string
  feature: string
  feature_id: string
  type: Schemas['FeatureType']
  enabled: boolean
  limit: string | null
  source: Schemas['Entitlement']['source']
  expires_at: string | null
  used: string | null
  remaining: string | null
  resets_at: string | null
}

/**
 * Replaces the features of a locked product.
 * @see prisma/sql/entitlements/replace-of-product.sql
 */
export const replaceOfProduct = none<{ feature_ids: readonly string[]; limits: readonly (string | null)[]; product_id: string }>(
  'entitlements/replace-of-product',
  `WITH given AS (
  SELECT * FROM unnest($1::text[], $2::text[]) WITH ORDINALITY
    AS g (feature_id, limit_value, position)
), removed AS (
  DELETE FROM product_features WHERE product_id = $3
    AND feature_id NOT IN (SELECT feature_id FROM given)
)
INSERT INTO product_features (product_id, feature_id, limit_value, position)
SELECT $3, feature_id, limit_value::numeric, position::int FROM given
ON CONFLICT (product_id, feature_id) DO UPDATE SET limit_value = excluded.limit_value,
  position = excluded.position`,
  ['feature_ids', 'limits', 'product_id'],
)

/**
 * Sets or replaces the override of a customer.
 * @see prisma/sql/entitlements/set-override.sql
 */
export const setOverride = none<{ customer_id: string; feature_id: string; enabled: boolean; limit: number | string | null; expires_at: Date | string | null }>(
  'entitlements/set-override',
  `INSERT INTO entitlement_overrides (customer_id, feature_id, enabled, limit_value, expires_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (customer_id, feature_id) DO UPDATE SET enabled = excluded.enabled,
  limit_value = excluded.limit_value, expires_at = excluded.expires_at`,
  ['customer_id', 'feature_id', 'enabled', 'limit', 'expires_at'],
)

/**
 * Features by id, locked against changes.
 * @see prisma/sql/entitlements/share-features.sql
 */
export const shareFeatures = many<{ ids: readonly string[] }, ShareFeaturesRow>(
  'entitlements/share-features',
  `SELECT f.id, f.organization_id, f.type, f.active FROM features f
WHERE f.id = ANY($1) ORDER BY f.id FOR SHARE`,
  ['ids'],
)
export interface ShareFeaturesRow {
  id: string
  organization_id: string | null
  type: Schemas['FeatureType']
  active: boolean
}

/**
 * What a customer used of a metered feature in its period.
 * @see prisma/sql/entitlements/usage.sql
 */
export const usage = one<{ meter_id: string; customer_id: string; now: Date | string; start: Date | string | null; end: Date | string | null; limit: number | string | null }, UsageRow>(
  'entitlements/usage',
  `SELECT m.used AS "used",
CASE WHEN l.maximum < m.used THEN 0 ELSE trim_scale(l.maximum - m.used) END AS "remaining",
m.resets_at AS "resets_at"
FROM (
  SELECT $1::text AS meter, $2::text AS customer, $3::timestamptz AS now,
    $4::timestamptz AS start, $5::timestamptz AS "end", $6::numeric AS maximum
) l
  CROSS JOIN LATERAL (
    SELECT period.end AS resets_at, CASE WHEN true THEN
  meter_quantity(l.meter, l.customer, period.start, greatest(period.end, l.now + interval '5 minutes'))
END AS used
FROM (SELECT
  coalesce(l.start, date_trunc('month', l.now, 'UTC')) AS start,
  coalesce(l.end, (date_trunc('month', l.now AT TIME ZONE 'UTC') + interval '1 month')
    AT TIME ZONE 'UTC') AS "end"
) period
  ) m`,
  ['meter_id', 'customer_id', 'now', 'start', 'end', 'limit'],
  { reads: true },
)
export interface UsageRow {
  used: string | null
  remaining: string | null
  resets_at: string | null
}
