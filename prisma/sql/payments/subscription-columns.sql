-- The columns of a Subscription without its project, from subscriptions s. Every subscription has an order.
-- The first item has the suffix of the subscription's id.
-- @type metadata Record<string, string>
-- @type items Schemas['SubscriptionItem'][]
s.id, s.owner_id AS user_id, s.customer_id AS "customer_id!", s.status,
jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5), 'price_id', s.price_id,
  'quantity', s.quantity)) AS "items!",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.cancel_at_period_end, s.canceled_at, s.ended_at,
s.latest_order_id AS "latest_order_id!", s.metadata, s.created_at, s.updated_at
