-- The amount of a paid order that can still be refunded, the payment to refund, and whether the bank decides
-- about the money, or has given it to the customer.
-- @one
SELECT o.total_amount - o.refunded_amount - o.refunding_amount AS available, p.id AS payment_id, p.gateway,
  p.gateway_reference, payments_now() AS "now!",
  EXISTS (SELECT FROM disputes d WHERE d.payment_id = p.id AND d.status NOT IN ('won',
    'warning_needs_response', 'warning_under_review', 'warning_closed')) AS disputed
FROM orders o JOIN payments p ON p.order_id = o.id AND p.status = 'succeeded'
WHERE o.id = :order_id
