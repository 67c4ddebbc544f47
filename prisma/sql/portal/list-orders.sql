-- The orders of a customer that were not canceled, the latest first: those before :before.
-- @many
SELECT o.id, o.number, o.status, o.total_amount, o.refunded_amount, o.currency, o.paid_at, o.created_at
FROM orders o
WHERE o.customer_id = :customer_id AND o.status <> 'canceled' AND (:before?::text IS NULL OR o.id < :before)
ORDER BY o.id DESC LIMIT :limit
