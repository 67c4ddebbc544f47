-- The columns of a Checkout without its project, with its gateway's data and whether it created its order,
-- from checkouts c.
-- @type payment_status 'paid' | 'unpaid'
-- @type currency Schemas['Currency']
-- @type metadata Record<string, string>
c.id, c.url, c.mode, c.status,
CASE WHEN c.status = 'complete' THEN 'paid' ELSE 'unpaid' END AS payment_status,
c.order_id, c.subscription_id, c.total_amount, c.currency, c.success_url, c.cancel_url, c.expires_at,
c.metadata, c.created_at, c.updated_at, c.owns_order, c.gateway, c.gateway_reference, c.gateway_url
