-- The entitlement of a customer to a feature, by the key of the feature.
-- @optional
SELECT {columns}
{customer}
WHERE f.key = :feature
