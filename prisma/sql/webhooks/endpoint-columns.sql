-- The columns of a WebhookEndpoint.
-- @type event_types Schemas['WebhookEndpoint']['event_types']
-- @type metadata Record<string, string>
-- @type disabled_reason Schemas['WebhookEndpoint']['disabled_reason']
id, url, description, event_types AS "event_types!", enabled, disabled_reason,
CASE WHEN all_projects THEN NULL ELSE project_ids END AS project_ids, metadata, user_id AS created_by,
created_at, updated_at
