-- A subscription and the caller's access to it.
-- @optional
SELECT {subscription-state-columns}, {projects/access row=s role=payments_role}
FROM subscriptions s
WHERE s.id = :id
