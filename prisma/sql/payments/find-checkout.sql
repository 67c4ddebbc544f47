-- A checkout session with its owner, without authorization.
-- @optional
SELECT {owned-checkout-columns}
FROM checkouts c
WHERE c.id = :id
