-- What a user or an organization has of each limited resource.
-- @one
-- @type quotas Record<string, number>
SELECT coalesce(jsonb_object_agg(quota, used), '{}') AS "quotas!" FROM quota_usage WHERE user_id = :account_id
