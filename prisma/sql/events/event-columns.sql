-- The columns of an Event, from events e. The actor of an older event says nothing of service accounts.
-- @type type EventType
-- @type api_version 'v1'
-- @type actor Schemas['PlatformEvent']['actor']
-- @type data Schemas['PlatformEvent']['data']
e.id, e.type, e.created_at, 'v1' AS api_version,
CASE WHEN e.project_id LIKE 'prj%' THEN e.project_id END AS project_id,
CASE WHEN e.project_id LIKE 'org%' THEN e.project_id END AS organization_id, e.request_id,
e.client_request_id,
'{"service_account_id": null}' || e.actor AS actor, e.data
