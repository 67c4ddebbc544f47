-- What a user has and uses of what is limited, apart from what servers count in memory.
-- @one
-- @type quotas Record<string, number>
SELECT
  coalesce((SELECT bytes FROM storage_usage WHERE space_id = :user_id), 0) AS storage_bytes,
  {chat/tokens-today} AS tokens,
  ({chat/today} + 1)::timestamp AT TIME ZONE 'UTC' AS "day_ends!",
  (SELECT count(*) FROM ai_messages WHERE user_id = :user_id AND status = 'in_progress')::int AS answers,
  coalesce((SELECT jsonb_object_agg(quota, used) FROM quota_usage WHERE user_id = :user_id), '{}') AS quotas
