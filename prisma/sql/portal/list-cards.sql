-- The cards of a customer, the default first.
-- @many
SELECT t.id, t.brand, t.last4, t.exp_month, t.exp_year
FROM payment_methods t
WHERE t.customer_id = :customer_id
ORDER BY t.chosen_at DESC, t.id DESC LIMIT :limit
