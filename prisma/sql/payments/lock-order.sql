-- Like `find-order`, but locks the order against other writers. The transaction has the customer's time.
-- @optional
{find-order}
AND enter_customer_time(o.customer_id) IS NOT NULL
FOR NO KEY UPDATE
