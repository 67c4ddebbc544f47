-- The events to delete: from the oldest event up to the first event that is young enough to stay, so that
-- the log always starts at one sequence. The sequence does not follow created_at exactly, because
-- concurrent events may be numbered in another order.
-- @many
WITH oldest AS (
  SELECT id, sequence, created_at < now() - make_interval(days => :days) AS old
  FROM events WHERE sequence > (SELECT removed_through FROM event_log) ORDER BY sequence LIMIT :limit
)
SELECT id, sequence FROM oldest
WHERE sequence < coalesce((SELECT min(sequence) FROM oldest WHERE NOT old), 9223372036854775807)
ORDER BY sequence
