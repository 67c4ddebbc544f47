-- Like `find-subscription`, but locks the subscription against other writers. The transaction has the
-- customer's time.
-- @optional
{find-subscription}
AND enter_customer_time(s.customer_id) IS NOT NULL
FOR NO KEY UPDATE
