-- A customer of any seller, locked against deletion. The transaction has its time.
-- @optional
{find}
AND enter_customer_time(t.id) IS NOT NULL
FOR SHARE
