-- The prices of an order's items, with the time: of a customer, if :customer_id is not null.
-- Takes no row locks: otherwise a steady stream of orders would keep operators from archiving a price. An
-- order that is created at the same moment as the price is archived is valid.
-- @type currency Schemas['Currency']
-- @many
SELECT p.id, p.unit_amount, p.currency, p.interval IS NOT NULL AS recurring,
  p.product_id, d.organization_id, p.interval, p.interval_count, p.trial_days,
  p.active AND d.active AS active, d.name, p.usage IS NOT NULL AS has_usage,
  enter_customer_time(:customer_id?) AS "now!"
FROM prices p JOIN products d ON d.id = p.product_id
WHERE p.id = ANY(:ids)
