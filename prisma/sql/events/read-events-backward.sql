-- The state of the log, and the events before a sequence that the caller can read, newest first. Without
-- events there is one row.
-- @many
-- @nullable project_ids
SELECT l.last_sequence AS last, l.removed_through AS removed,
  EXISTS (SELECT 1 FROM events WHERE sequence IS NULL) AS unnumbered, x.*
FROM (
  SELECT *, -1 AS step, high AS start, high AS base, low AS stop, {caller}
  FROM (
    SELECT last_sequence, removed_through,
      greatest(removed_through, least(:before::bigint - 1, last_sequence) - :max_scan) AS low,
      least(:before - 1, last_sequence) AS high
    FROM event_log
  ) l OFFSET 0
) l LEFT JOIN LATERAL (
  {readable-events order=DESC}
) x ON true
ORDER BY x.sequence DESC
