-- Like `read-subscription`, but locks the subscription and its project.
-- @optional
SELECT {subscription-state-columns}, {projects/locked-access row=s role=payments_role}
FROM subscriptions s
WHERE s.id = :id
FOR NO KEY UPDATE OF s
