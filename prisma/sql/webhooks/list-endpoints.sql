-- The endpoints of a user.
-- @page
-- @type event_types Schemas['WebhookEndpoint']['event_types']
-- @type metadata Record<string, string>
-- @type disabled_reason Schemas['WebhookEndpoint']['disabled_reason']
SELECT id, url, description, event_types AS "event_types!", enabled, disabled_reason,
  CASE WHEN all_projects THEN NULL ELSE project_ids END AS project_ids, metadata, created_at, updated_at
FROM webhook_endpoints
WHERE user_id = :user_id AND deleted_at IS NULL
-- @common webhook_endpoints.created_at webhook_endpoints.updated_at webhook_endpoints.metadata
-- @filter enabled
enabled = :enabled
-- @filter key_projects
NOT all_projects AND project_ids <@ :key_projects
-- @sort created_at
created_at
-- @sort updated_at
webhook_endpoints.updated_at
-- @id
id
