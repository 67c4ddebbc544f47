-- The customer of a user who buys from the operator, locked against deletion. The first sale makes it.
-- @one
SELECT c.id AS "id!", c.is_new AS "is_new!" FROM customer_of_user(:user_id) c
