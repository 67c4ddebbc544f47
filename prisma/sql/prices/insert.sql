-- Inserts a price of its product's seller: recurring with an interval, else one-time.
-- @one
INSERT INTO prices AS t
  (id, product_id, organization_id, unit_amount, currency, interval, interval_count, trial_days, usage,
   metadata, created_by, created_at)
VALUES (:id, :product_id, (SELECT d.organization_id FROM products d WHERE d.id = :product_id), :unit_amount,
  :currency, (:recurring?::jsonb ->> 'interval')::"PriceInterval",
  (:recurring::jsonb ->> 'interval_count')::int, coalesce((:recurring::jsonb ->> 'trial_days')::int, 0),
  '{"unit_amount": null, "package_size": null, "tiers": null}'::jsonb || :usage?::jsonb,
  :metadata, :created_by, :created_at)
RETURNING {columns}
