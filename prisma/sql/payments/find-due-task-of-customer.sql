-- The first task of a customer that is due at :at, or now if that is null, by the customer's time, excluding
-- the ids :except.
-- @optional
-- @type kind 'payment' | 'checkout' | 'subscription' | 'dispute'
SELECT t.kind, t.id, t.at
FROM customers k CROSS JOIN LATERAL ({tasks-of-customer}) t
WHERE k.id = :customer_id AND t.at <= coalesce(:at?, enter_customer_time(k.id)) AND t.id <> ALL(:except)
ORDER BY t.at, t.rank, t.id LIMIT 1
