-- Inserts an event. With `delivers`, it gets its deliveries when it is numbered.
-- @none
INSERT INTO events (id, type, project_id, user_id, scope, role, request_id, client_request_id, actor, data,
  delivers, traceparent, created_at)
VALUES (:id, :type, :project_id?, :user_id?, :scope, :role?, :request_id?, :client_request_id?, :actor, :data,
  :delivers, :traceparent?, :created_at)
