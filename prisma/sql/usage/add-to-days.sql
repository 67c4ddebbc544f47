-- Adds requests to the days of users. Processes that write at the same time lock the rows in the same order.
-- @none
INSERT INTO usage_days AS u (user_id, day, requests, errors, downloaded_bytes, storage_bytes)
SELECT user_id, day::date, requests, errors, downloads, storage
FROM unnest(:users::text[], :days::text[], :requests::bigint[], :errors::bigint[], :downloads::bigint[],
  :storage::bigint[]) AS d(user_id, day, requests, errors, downloads, storage)
ORDER BY 1, 2
ON CONFLICT (user_id, day) DO UPDATE SET
  requests = u.requests + excluded.requests,
  errors = u.errors + excluded.errors,
  downloaded_bytes = u.downloaded_bytes + excluded.downloaded_bytes,
  storage_bytes = excluded.storage_bytes
