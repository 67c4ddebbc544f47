-- Keeps the sync `run` of a source for longer. No row: it has ended, or another worker has it.
-- @optional
UPDATE knowledge_sources SET leased_until = now() + :lease_seconds * interval '1 second'
WHERE id = :id AND run = :run RETURNING id
