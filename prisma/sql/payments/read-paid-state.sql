-- The state of a paid order, its payment and its refunds, oldest first, and the address of its buyer: of a
-- user if it is verified, which that of a service account never is; else of the customer.
-- @one
-- @type card { brand: string; last4: string }
-- @type refunds { amount: number; at: string }[]
SELECT o.status, o.refunded_amount, o.paid_at AS "paid_at!", o.updated_at, p.gateway, p.card,
  CASE WHEN o.owner_id IS NULL THEN (SELECT c.email FROM customers c WHERE c.id = o.customer_id)
    ELSE (SELECT u.email FROM users u WHERE u.id = o.owner_id AND u.email_verified) END AS "buyer_email?",
  (SELECT coalesce(jsonb_agg(jsonb_build_object('amount', r.amount, 'at', r.updated_at)
      ORDER BY r.updated_at, r.id), '[]')
   FROM refunds r WHERE r.order_id = o.id AND r.status = 'succeeded') AS refunds
FROM orders o JOIN payments p ON p.order_id = o.id AND p.status = 'succeeded'
WHERE o.id = :id
