-- The columns of a delivery `d` with its event `e`, for its endpoint `w` of the user `u` and the membership
-- `m` of the user in the event's project. `readable`: whether the user can still read the event.
-- @type event_type EventType
-- @type attempts Schemas['WebhookAttempt'][]
-- @type request { url: string; headers: Record<string, string> }
-- @type event Schemas['PlatformEvent']
d.id, d.endpoint_id, d.event_id, e.type AS event_type, d.status, d.attempts,
d.next_attempt_at, d.request, d.created_at, d.updated_at,
{events/may-receive} AS "readable!",
json_build_object('id', e.id, 'type', e.type,
  'created_at', to_char(e.created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'api_version', 'v1',
  'project_id', {events/project}, 'organization_id', {events/organization},
  'request_id', e.request_id, 'client_request_id', e.client_request_id,
  'actor', e.actor, 'data', e.data) AS event
