-- Removes the override of a customer.
-- @optional
DELETE FROM entitlement_overrides WHERE customer_id = :customer_id AND feature_id = :feature_id
RETURNING feature_id
