-- Inserts an event.
INSERT INTO events (id, type, project_id, user_id, scope, role, request_id, client_request_id, actor, data,
  created_at)
VALUES (:id, :type, :project_id?, :user_id?, :scope, :role?, :request_id?, :client_request_id?, :actor, :data,
  :created_at)
