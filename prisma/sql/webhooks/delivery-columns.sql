-- The columns of a delivery `d` with its event `e`, for its endpoint `w` and the membership `m` of the
-- endpoint's owner in the event's project. `readable`: whether the owner can still read the event.
-- @type event_type EventType
-- @type attempts Schemas['WebhookAttempt'][]
-- @type request { url: string; headers: Record<string, string> }
-- @type event Schemas['PlatformEvent']
d.id, d.endpoint_id, d.event_id, e.type AS event_type, d.status, d.attempts,
d.next_attempt_at, d.request, d.created_at, d.updated_at,
CASE WHEN e.project_id IS NULL THEN w.all_projects OR NOT {events/is-tenant-event type=e.type}
  ELSE coalesce(m.role <= e.role, false) END AS readable,
json_build_object('id', e.id, 'type', e.type,
  'created_at', to_char(e.created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'api_version', 'v1',
  'project_id', e.project_id, 'request_id', e.request_id, 'sequence', e.sequence, 'data', e.data) AS event
