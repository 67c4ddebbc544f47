-- Like `read-checkout`, but locks the session's project, not the session.
-- @optional
SELECT {checkout-state-columns}, {projects/locked-access row=c role=payments_role}
FROM checkouts c
WHERE c.id = :id
