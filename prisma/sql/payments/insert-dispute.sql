-- Inserts a dispute of a payment, for the owner, the seller and the project of the payment.
-- @one
INSERT INTO disputes AS d (id, order_id, project_id, owner_id, seller_organization_id, payment_id, status,
  amount, currency, reason, evidence_due_at, gateway_reference, synced_at, due_at, created_at, updated_at)
SELECT :id, p.order_id, p.project_id, p.owner_id, p.seller_organization_id, p.id,
  :status, :amount, :currency, :reason,
  :evidence_due_at?, :gateway_reference?, :synced_at?, :due_at?, :created_at, :created_at
FROM payments p WHERE p.id = :payment_id
RETURNING {dispute-columns}, d.project_id
