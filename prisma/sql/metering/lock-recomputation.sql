-- Waits until no process adds up usage or records values of a meter of unique values. Until the transaction
-- ends.
-- @one
SELECT pg_advisory_xact_lock(hashtextextended('usage', 0))::text AS folding,
  pg_advisory_xact_lock(hashtextextended('usage of ' || :meter_id, 0))::text AS recording
