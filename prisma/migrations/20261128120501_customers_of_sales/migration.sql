-- The customers of the users who bought before. A transaction of its own: the one before locks the tables of
-- sales, whose new rows have a customer since.
INSERT INTO customers (id, user_id, email, name, locale, created_at, updated_at, deleted_at)
SELECT new_id('cus', payments_now()), u.id, u.email, CASE WHEN u.email IS NOT NULL THEN u.name END, u.locale,
  payments_now(), payments_now(), CASE WHEN u.status = 'deleted' THEN now() END
FROM users u
WHERE EXISTS (SELECT FROM orders o WHERE o.owner_id = u.id AND o.customer_id IS NULL)
  OR EXISTS (SELECT FROM subscriptions s WHERE s.owner_id = u.id AND s.customer_id IS NULL)
ON CONFLICT DO NOTHING;

UPDATE subscriptions s SET customer_id = c.id FROM customers c
WHERE c.user_id = s.owner_id AND s.customer_id IS NULL;
UPDATE orders o SET customer_id = c.id FROM customers c
WHERE c.user_id = o.owner_id AND o.customer_id IS NULL;
UPDATE checkouts h SET customer_id = o.customer_id FROM orders o
WHERE o.id = h.order_id AND h.customer_id IS NULL;
