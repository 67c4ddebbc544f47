-- Like `read-subscription`, but locks the subscription and its project. The transaction has the
-- customer's time.
-- @optional
SELECT {subscription-state-columns}, {projects/locked-access row=s role=payments_role}
FROM subscriptions s
WHERE s.id = :id AND enter_customer_time(s.customer_id) IS NOT NULL
FOR NO KEY UPDATE OF s
