-- A delivery, with the columns of its endpoint that decide who can see it.
-- @optional
SELECT {delivery-columns}, w.user_id, w.deleted_at, w.scopes AS "scopes!", w.project_ids,
  w.all_projects
FROM webhook_deliveries d JOIN events e ON e.id = d.event_id {endpoint-and-member}
WHERE d.id = :id
