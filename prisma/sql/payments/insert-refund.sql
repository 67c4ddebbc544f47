-- Inserts a pending refund of an order, for the owner, the seller and the project of the order.
-- @none
INSERT INTO refunds (id, order_id, project_id, owner_id, seller_organization_id, payment_id, amount, currency,
  reason, metadata, created_at, updated_at)
SELECT :id, o.id, o.project_id, o.owner_id, o.seller_organization_id, :payment_id, :amount, :currency,
  :reason?, :metadata, :created_at, :created_at
FROM orders o WHERE o.id = :order_id
