-- The columns of a price, from prices t.
-- @type currency Schemas['Currency']
-- @type recurring Schemas['Recurring']
-- @type usage Schemas['PriceUsage'] | null
-- @type metadata Record<string, string>
t.id, t.product_id, t.organization_id, t.unit_amount, t.currency,
CASE WHEN t.interval IS NOT NULL
  THEN jsonb_build_object('interval', t.interval, 'interval_count', t.interval_count,
    'trial_days', t.trial_days) END AS recurring,
t.usage, t.active, t.metadata, t.created_by, t.created_at, t.updated_at
