-- `read-checkout` that locks the session's project, but not the session.
-- @optional
SELECT {checkout-columns}, {projects/locked-access row=c}
FROM checkouts c
WHERE c.id = :id
