-- Inserts events of one type, in the order of the arrays. They get their deliveries when they are numbered.
-- @none
INSERT INTO events (id, type, project_id, user_id, scope, role, request_id, client_request_id, actor, data,
  delivers, traceparent, created_at)
SELECT e.id, :type, e.project_id, e.user_id, e.scope, e.role::"MemberRole", :request_id?, :client_request_id?,
  :actor::jsonb, e.data::json, true, :traceparent?, e.created_at
FROM unnest(:ids::text[], :project_ids[?]::text[], :user_ids[?]::text[], :scopes::text[], :roles[?]::text[],
  :data::text[], :times::timestamptz[]) WITH ORDINALITY
  AS e (id, project_id, user_id, scope, role, data, created_at, n)
ORDER BY e.n
