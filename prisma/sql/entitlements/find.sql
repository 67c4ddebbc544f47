-- The entitlement of a customer to a feature, by the key of the feature, and the seller of both. A metered
-- feature has a period and the time of the customer, for `usage`.
-- @optional
SELECT {columns}, c.organization_id, f.meter_id, p.period_start AS "period_start?",
  p.period_end AS "period_end?", t.now AS "now!"
{customer}
WHERE c.id = :customer_id AND c.deleted_at IS NULL AND f.key = :feature
