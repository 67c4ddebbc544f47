-- A checkout session and the caller's access to it.
-- @optional
SELECT {checkout-state-columns}, {projects/access row=c role=payments_role}
FROM checkouts c
WHERE c.id = :id
