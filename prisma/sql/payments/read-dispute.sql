-- A dispute and the caller's access to it.
-- @optional
SELECT {dispute-columns}, {projects/access row=d role=payments_role}
FROM disputes d
WHERE d.id = :id
