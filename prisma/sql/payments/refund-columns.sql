-- The columns of a Refund, from refunds r.
-- @type currency Schemas['Currency']
-- @type metadata Record<string, string>
r.id, r.order_id, r.project_id, r.owner_id AS user_id, r.seller_organization_id, r.amount, r.currency,
r.status, r.reason, r.metadata, r.created_at, r.updated_at
