-- Marks a pending, locked order as paid.
-- @one
UPDATE orders o SET status = 'paid', paid_at = :at,
  updated_at = greatest(:at, updated_at + interval '1 millisecond')
WHERE id = :id AND status = 'pending'
RETURNING {order-columns items=order_items}, o.project_id, o.owner_id
