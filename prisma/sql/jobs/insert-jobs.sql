-- Adds jobs to a queue. A job without a time is due now.
-- @none
INSERT INTO jobs (queue, lane, group_id, data, due_at)
SELECT :queue, j.lane, j.group_id, j.data, coalesce(j.due_at, now())
FROM unnest(:lanes::text[], :group_ids::text[], :data::jsonb[], :due_ats[?]::timestamptz[])
  AS j (lane, group_id, data, due_at)
