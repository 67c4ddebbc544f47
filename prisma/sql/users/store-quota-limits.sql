-- Stores the limits of the quotas.
-- @none
INSERT INTO quota_limits (quota, value)
SELECT * FROM unnest(:quotas::text[], :values::bigint[])
ON CONFLICT (quota) DO UPDATE SET value = excluded.value WHERE quota_limits.value <> excluded.value
