-- Takes the blobs out of the quarantine that a complete sweep did not find, or that a row refers to again.
-- None when another sweep has begun.
-- @one
WITH released AS (
  DELETE FROM quarantined_blobs q USING database_identity i
  WHERE i.sweep_id = :sweep_id AND q.sweep_id IS DISTINCT FROM i.sweep_id AND q.since < i.sweep_began_at
  RETURNING 1
)
SELECT count(*)::int AS n FROM released
