-- The state of the log, and the events after a sequence that the caller can read, oldest first. Without
-- events there is one row.
-- @many
-- @nullable project_ids
SELECT l.last_sequence AS last, l.removed_through AS removed,
  EXISTS (SELECT 1 FROM events WHERE sequence IS NULL) AS unnumbered, x.*
FROM (
  SELECT *, 1 AS step, low AS start, high AS stop, {caller}
  FROM (
    SELECT last_sequence, removed_through, :after::bigint AS low,
      greatest(:after, removed_through) AS base, greatest(:after, removed_through) + :max_scan AS high
    FROM event_log
  ) l OFFSET 0
) l LEFT JOIN LATERAL (
  {readable-events order=ASC}
) x ON true
ORDER BY x.sequence
