-- The amount of a paid order that can still be refunded, and the payment to refund.
-- @one
SELECT o.total_amount - o.refunded_amount - o.refunding_amount AS available, p.id AS payment_id, p.gateway,
  p.gateway_reference, payments_now() AS "now!"
FROM orders o JOIN payments p ON p.order_id = o.id AND p.status = 'succeeded'
WHERE o.id = :order_id
