-- The columns of a Payment without project_id and failure_message, from payments p.
-- @type currency Schemas['Currency']
-- @type card Schemas['PaymentCard']
p.id, p.order_id, p.checkout_id, p.subscription_id, p.owner_id AS user_id, p.seller_organization_id,
p.status, p.amount, p.currency, CASE WHEN p.card IS NOT NULL
  THEN jsonb_build_object('brand', p.card->'brand', 'last4', p.card->'last4') END AS card,
p.failure_code, p.created_at, p.updated_at
