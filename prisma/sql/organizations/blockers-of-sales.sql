-- Whether an organization that sells has a subscription that has not ended, or an open checkout session.
-- @one
SELECT EXISTS (SELECT FROM subscriptions s WHERE s.seller_organization_id = :id AND s.status <> 'canceled')
    AS "subscription!",
  EXISTS (SELECT FROM checkouts c WHERE c.seller_organization_id = :id AND c.status = 'open') AS "checkout!"
