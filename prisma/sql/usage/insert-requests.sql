-- Inserts requests. Returns those that were not inserted before.
-- @many
INSERT INTO api_requests (id, user_id, key_id, operation, method, status, error_code, duration_ms, requests,
  request_id, client_request_id, created_at)
SELECT * FROM unnest(:ids::text[], :users::text[], :keys::text[], :operations::text[], :methods::text[],
  :statuses::int[], :error_codes[?]::text[], :durations::int[], :requests::int[], :request_ids::text[],
  :client_request_ids[?]::text[], :times::timestamptz[])
ON CONFLICT (user_id, id) DO NOTHING
RETURNING id
