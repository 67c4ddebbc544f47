-- Marks a late payment as refunded in full. No row if it is not one.
-- @optional
UPDATE payments p SET status = 'returned', updated_at = :at
FROM orders o
WHERE p.id = :id AND p.status = 'returning' AND o.id = p.order_id
RETURNING p.amount, p.currency, p.order_id, o.customer_id AS "customer_id!"
