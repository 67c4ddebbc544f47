-- The columns of a PaymentMethod, from payment_methods t.
-- @type card Schemas['StoredCard']
t.id, t.customer_id,
(SELECT c.organization_id FROM customers c WHERE c.id = t.customer_id) AS seller_organization_id,
jsonb_build_object('brand', t.brand, 'last4', t.last4, 'exp_month', t.exp_month,
  'exp_year', t.exp_year) AS "card!",
NOT EXISTS (SELECT FROM payment_methods o WHERE o.customer_id = t.customer_id
  AND (o.chosen_at, o.id) > (t.chosen_at, t.id)) AS "is_default!",
t.created_at, t.updated_at
