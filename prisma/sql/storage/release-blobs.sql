-- Takes the blobs out of the quarantine that a complete sweep did not find, or that a row refers to again.
-- @one
WITH released AS (
  DELETE FROM quarantined_blobs
  WHERE sweep_id IS DISTINCT FROM :sweep_id AND since < (SELECT sweep_began_at FROM database_identity)
  RETURNING 1
)
SELECT count(*)::int AS n FROM released
