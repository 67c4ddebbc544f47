-- Cancels a pending order. No row if the order is not pending.
-- @optional
UPDATE orders o SET status = 'canceled', updated_at = {next-updated-at}
WHERE id = :id AND status = 'pending'
RETURNING {order-columns items=order_items}, o.project_id, {owner row=o}
