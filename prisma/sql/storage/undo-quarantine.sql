-- Takes the blobs without a row that the running sweep has added out of the quarantine again.
-- @none
DELETE FROM quarantined_blobs
WHERE reason = 'unknown' AND since >= (SELECT sweep_began_at FROM database_identity)
