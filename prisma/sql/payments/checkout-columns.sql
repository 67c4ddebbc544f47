-- The columns of a Checkout without its project, from checkouts c.
-- @type payment_status 'paid' | 'unpaid'
-- @type currency Schemas['Currency']
-- @type metadata Record<string, string>
c.id, c.owner_id AS user_id, c.customer_id AS "customer_id!", c.seller_organization_id, c.url,
c.mode, c.status,
CASE WHEN c.status = 'complete' THEN 'paid' ELSE 'unpaid' END AS payment_status,
c.order_id, c.subscription_id, c.total_amount, c.currency, c.success_url, c.cancel_url, c.expires_at,
c.metadata, c.created_at, c.updated_at
