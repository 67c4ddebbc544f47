-- A pending refund, with the gateway's ids of the refund and of its payment.
-- @optional
SELECT r.order_id, r.amount, r.currency, r.gateway_reference AS reference, p.gateway_reference AS "payment!"
FROM refunds r JOIN payments p ON p.id = r.payment_id
WHERE r.id = :id AND r.status = 'pending'
