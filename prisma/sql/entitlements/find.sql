-- The entitlement of a customer to a feature, by the key of the feature, and the seller of both.
-- @optional
SELECT {columns}, c.organization_id
{customer}
WHERE c.id = :customer_id AND c.deleted_at IS NULL AND f.key = :feature
