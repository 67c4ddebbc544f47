-- A subscription with its owner, without authorization.
-- @optional
SELECT {owned-subscription-columns}
FROM subscriptions s
WHERE s.id = :id
