-- A payment and the caller's access to it.
-- @optional
SELECT {payment-columns}, {projects/access row=p role=payments_role}
FROM payments p
WHERE p.id = :id
