-- The columns of a Refund, from refunds r and their orders o.
-- @type currency Schemas['Currency']
-- @type metadata Record<string, string>
r.id, r.order_id, o.project_id, r.amount, r.currency, r.status, r.reason, r.metadata,
r.created_at, r.updated_at
