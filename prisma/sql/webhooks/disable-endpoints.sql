-- Disables the endpoints that are gone, and those that have failed for :max_failing_days, and returns them.
-- @many
UPDATE webhook_endpoints
SET enabled = false, disabled_reason = CASE WHEN id = ANY(:gone_ids) THEN 'gone' ELSE 'failing' END
WHERE enabled AND (
  id = ANY(:gone_ids)
  OR (id = ANY(:failing_ids) AND failing_since < now() - make_interval(days => :max_failing_days))
) RETURNING {endpoint-columns}, user_id
