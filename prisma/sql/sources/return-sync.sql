-- Gives the sync `run` of a source back, to begin again at once.
-- @none
UPDATE knowledge_sources SET status = 'queued', leased_until = NULL WHERE id = :id AND run = :run
