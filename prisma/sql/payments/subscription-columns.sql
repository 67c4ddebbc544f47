-- The columns of a Subscription without its project, from subscriptions s. Every subscription has an order.
-- A single item has the suffix of the subscription's id.
-- @type metadata Record<string, string>
-- @type items Schemas['SubscriptionItem'][]
-- @type scheduled_change Schemas['ScheduledChange'] | null
s.id, s.owner_id AS user_id, s.customer_id AS "customer_id!", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items!",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id!", s.metadata, s.created_at, s.updated_at
