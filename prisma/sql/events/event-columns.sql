-- The columns of an Event, from events e.
-- @type type EventType
-- @type api_version 'v1'
-- @type actor Schemas['PlatformEvent']['actor']
-- @type data Schemas['PlatformEvent']['data']
e.id, e.type, e.created_at, 'v1' AS api_version, {events/project} AS project_id,
{events/organization} AS organization_id, e.request_id, e.client_request_id, e.actor, e.data
