-- The columns of an Order, from orders o and the items in `items`.
-- @type currency Schemas['Currency']
-- @type items Schemas['OrderItem'][]
-- @type metadata Record<string, string>
o.id, o.number, o.owner_id AS user_id, o.customer_id AS "customer_id!", o.seller_organization_id, o.status,
(SELECT jsonb_agg(jsonb_build_object('price_id', i.price_id, 'description', i.description,
   'quantity', i.quantity, 'unit_amount', i.unit_amount, 'amount', i.amount, 'usage', i.usage)
   ORDER BY i.position)
 FROM {items} i WHERE i.order_id = o.id) AS "items!",
o.total_amount + o.credit_amount AS "subtotal_amount!", o.credit_amount, o.total_amount,
o.refunded_amount, o.currency, o.checkout_id, o.subscription_id,
o.metadata, o.paid_at, o.created_by, o.created_at, o.updated_at
