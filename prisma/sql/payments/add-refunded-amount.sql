-- Moves a reserved amount of a locked order to its refunded amount.
-- @one
UPDATE orders o SET refunding_amount = refunding_amount - :amount,
  refunded_amount = refunded_amount + :amount,
  status = CASE WHEN refunded_amount + :amount = total_amount
    THEN 'refunded' ELSE 'partially_refunded' END::"OrderStatus",
  updated_at = {next-updated-at}
WHERE id = :order_id AND status IN ('paid', 'partially_refunded')
RETURNING {order-columns items=order_items}, o.project_id, {owner row=o}
