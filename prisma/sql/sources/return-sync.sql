-- Gives the sync `run` of a source back, to begin again when the source may be synced.
-- @none
UPDATE knowledge_sources SET status = 'queued', leased_until = NULL WHERE id = :id AND run = :run
