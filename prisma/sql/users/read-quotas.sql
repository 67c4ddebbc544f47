-- How much of each quota a user or an organization has used.
-- @one
-- @type quotas Record<string, number>
SELECT coalesce(jsonb_object_agg(quota, used), '{}') AS "quotas!" FROM quota_usage WHERE user_id = :account_id
