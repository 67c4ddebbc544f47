-- The columns of a Dispute without project_id, from disputes d.
-- @type currency Schemas['Currency']
d.id, d.order_id, d.payment_id, d.owner_id AS user_id, d.seller_organization_id, d.amount, d.currency,
d.reason, d.status, d.evidence_due_at, d.created_at, d.updated_at
