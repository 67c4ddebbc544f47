-- The quotas and limits that a user has used, without those that servers count in memory.
-- @one
-- @type quotas Record<string, number>
SELECT
  (SELECT used FROM storage_use(account_of(:user_id), NULL)) AS "storage_bytes!",
  {chat/tokens-used} AS tokens,
  ({chat/today} + 1)::timestamp AT TIME ZONE 'UTC' AS "day_ends!",
  (
    SELECT count(*) FROM ai_messages
    WHERE user_id IN (SELECT users_sharing_limits(:user_id)) AND status = 'in_progress'
      AND {chat/is-alive column=heartbeat_at}
  )::int AS answers,
  coalesce((
    SELECT jsonb_object_agg(quota, used) FROM quota_usage WHERE user_id = account_of(:user_id)
  ), '{}') AS quotas
