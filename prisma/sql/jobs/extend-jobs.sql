-- Extends the time-out of jobs until `most_seconds` after their fetch, except those that were fetched again.
-- @many
UPDATE jobs j SET due_at = least(
  now() + make_interval(secs => :seconds), j.fetched_at + make_interval(secs => :most_seconds))
FROM unnest(:ids::uuid[], :fetches::int[]) AS own (id, fetches)
WHERE j.id = ANY(ARRAY(SELECT unnest(:ids::uuid[]))) AND j.id = own.id AND j.fetches = own.fetches
  AND j.fetched_at > now() - make_interval(secs => :most_seconds)
RETURNING j.id
