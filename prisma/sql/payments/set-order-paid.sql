-- Marks an order as paid. The order must be locked and pending.
-- @one
UPDATE orders o SET status = 'paid', paid_at = :at,
  updated_at = {next-updated-at}
WHERE id = :id AND status = 'pending'
RETURNING {order-columns items=order_items}, o.project_id, {owner row=o}
