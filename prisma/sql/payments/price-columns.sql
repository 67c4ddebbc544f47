-- The columns of a Price, from prices p.
-- @type currency Schemas['Currency']
-- @type recurring Schemas['Recurring']
-- @type metadata Record<string, string>
p.id, p.product_id, p.unit_amount, p.currency,
CASE WHEN p.interval IS NOT NULL
  THEN jsonb_build_object('interval', p.interval, 'interval_count', p.interval_count) END AS recurring,
p.active, p.metadata, p.created_at, p.updated_at
