-- A charge of a stored card that has no outcome yet, with the gateway's ids of it and of its customer.
-- @optional
SELECT p.order_id, p.amount, p.currency, p.gateway_reference AS reference, o.subscription_id,
  o.status = 'pending' AS "payable!", g.gateway_reference AS "customer?"
FROM payments p JOIN orders o ON o.id = p.order_id
LEFT JOIN gateway_customers g ON g.customer_id = o.customer_id AND g.gateway = p.gateway
WHERE p.id = :id AND p.gateway = :gateway AND p.status = 'processing' AND p.checkout_id IS NULL
