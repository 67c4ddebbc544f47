-- A subscription and the caller's access to it.
-- @optional
SELECT {subscription-state-columns}, {projects/access row=s}
FROM subscriptions s
WHERE s.id = :id
