-- Writes a batch of requests, and adds it to the days of their users. Of a batch that was written before,
-- nothing is written again: a user's day counts only with the user's first request of the batch
-- (`:first_ids`). Deleted users are left out.
-- @one
WITH living AS MATERIALIZED (
  SELECT id, (SELECT bytes + version_bytes FROM storage_usage WHERE workspace_id = users.id) AS storage_bytes
  FROM users WHERE id = ANY(:day_users) AND status <> 'deleted'
  ORDER BY id FOR KEY SHARE
), written AS (
  INSERT INTO api_requests (id, user_id, key_id, operation, method, status, error_code, duration_ms, requests,
    request_id, client_request_id, created_at)
  SELECT r.* FROM unnest(:ids::text[], :users::text[], :keys::text[], :operations::text[], :methods::text[],
    :statuses::int[], :error_codes[?]::text[], :durations::int[], :requests::int[], :request_ids::text[],
    :client_request_ids[?]::text[], :times::timestamptz[]) AS r(id, user_id)
  JOIN living l ON l.id = r.user_id
  ON CONFLICT (id) DO NOTHING
  RETURNING id
), days AS (
  INSERT INTO usage_days AS u (user_id, day, requests, errors, downloaded_bytes, storage_bytes)
  SELECT d.user_id, d.day::date, d.requests, d.errors, d.downloaded_bytes, coalesce(l.storage_bytes, 0)
  FROM unnest(:day_users::text[], :days::text[], :day_requests::bigint[], :day_errors::bigint[],
    :day_downloads::bigint[], :first_ids::text[])
    AS d(user_id, day, requests, errors, downloaded_bytes, first_id)
  JOIN living l ON l.id = d.user_id
  JOIN written w ON w.id = d.first_id
  -- Processes that write at the same time lock the rows in the same order.
  ORDER BY 1, 2
  ON CONFLICT (user_id, day) DO UPDATE SET
    requests = u.requests + excluded.requests,
    errors = u.errors + excluded.errors,
    downloaded_bytes = u.downloaded_bytes + excluded.downloaded_bytes,
    storage_bytes = excluded.storage_bytes
  RETURNING 1
)
SELECT coalesce(sum(count_usage(c.user_id, c.day::date, c.credential_id, c.project_id, '', c.requests,
  c.errors, c.downloaded_bytes, 0, 0, 0, 0)), 0)::int AS n
FROM unnest(:use_users::text[], :use_days::text[], :use_credentials::text[], :use_projects::text[],
  :use_requests::bigint[], :use_errors::bigint[], :use_downloads::bigint[], :use_first_ids::text[])
  AS c(user_id, day, credential_id, project_id, requests, errors, downloaded_bytes, first_id)
JOIN written w ON w.id = c.first_id
-- The days of the users are locked before: two processes never wait for each other's rows here.
WHERE (SELECT count(*) FROM days) > 0
