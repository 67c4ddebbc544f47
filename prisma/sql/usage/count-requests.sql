-- Adds requests to the counts by credential and project. The days of the users are locked before: two
-- processes never wait for each other's rows here.
-- @one
SELECT coalesce(sum(count_usage(c.user_id, c.day::date, c.credential_id, c.project_id, '', c.requests,
  c.errors, c.downloaded_bytes, 0, 0, 0, 0)), 0)::int AS n
FROM unnest(:users::text[], :days::text[], :credentials::text[], :projects::text[], :requests::bigint[],
  :errors::bigint[], :downloads::bigint[])
  AS c(user_id, day, credential_id, project_id, requests, errors, downloaded_bytes)
