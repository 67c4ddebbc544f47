-- The API requests of a user.
-- @page
SELECT r.id, r.created_at, r.operation, r.method, r.status, r.duration_ms, r.requests, r.request_id,
  r.client_request_id, r.error_code, r.key_id AS credential_id, r.key_id
FROM api_requests r
WHERE r.user_id = :user_id
-- @common r.created_at
-- @filter operation
r.operation = :operation
-- @filter status
r.status = :status
-- @filter status_class
(r.status / 100) || 'xx' = :status_class
-- @filter error_code
r.error_code = :error_code
-- @filter credential_id
r.key_id = :credential_id
-- @filter sent_by
r.key_id = :sent_by
-- @sort created_at
r.id
-- @id
r.id
