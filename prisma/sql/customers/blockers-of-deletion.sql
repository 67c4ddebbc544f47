-- Whether a customer has a subscription that has not ended, or an open checkout session.
-- @one
SELECT EXISTS (SELECT FROM subscriptions s WHERE s.customer_id = :id AND s.status <> 'canceled')
    AS "subscription!",
  EXISTS (SELECT FROM checkouts c WHERE c.customer_id = :id AND c.status = 'open') AS "checkout!"
