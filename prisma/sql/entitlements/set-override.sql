-- Sets or replaces the override of a customer.
-- @none
INSERT INTO entitlement_overrides (customer_id, feature_id, enabled, limit_value, expires_at)
VALUES (:customer_id, :feature_id, :enabled, :limit?, :expires_at?)
ON CONFLICT (customer_id, feature_id) DO UPDATE SET enabled = excluded.enabled,
  limit_value = excluded.limit_value, expires_at = excluded.expires_at
