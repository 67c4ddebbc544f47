-- Pending deliveries with everything that is needed to send them. `secrets`: the endpoint's current secret,
-- then the previous secret while it is still valid. `allowed`: whether the endpoint's owner may still read
-- the event.
-- @many
SELECT d.id AS delivery_id, d.tries, d.endpoint_id, w.user_id AS owner, w.url,
  w.enabled AND w.deleted_at IS NULL AS enabled,
  {events/is-failing} AS failing,
  CASE WHEN w.previous_expires_at > now() THEN ARRAY[w.secret, w.previous_secret] ELSE ARRAY[w.secret] END
    AS secrets,
  u.status = 'active' AND e.scope = ANY(w.scopes) AND coalesce(CASE
    WHEN e.project_id IS NOT NULL
      THEN m.role <= e.role AND (w.all_projects OR e.project_id = ANY(w.project_ids))
    WHEN e.user_id IS NOT NULL
      THEN e.user_id = w.user_id AND (w.all_projects OR NOT {events/is-tenant-event type=e.type})
    -- Without project and user, the scope decides. A user who is no longer an admin may still have it.
    ELSE e.scope <> 'admin' OR u.role = 'admin' END, false) AS "allowed!",
  {events/event-columns}
FROM webhook_deliveries d
JOIN webhook_endpoints w ON w.id = d.endpoint_id
JOIN users u ON u.id = w.user_id
JOIN events e ON e.id = d.event_id
LEFT JOIN members m ON m.project_id = e.project_id AND m.user_id = w.user_id
WHERE d.id = ANY(:ids) AND d.status = 'pending'
