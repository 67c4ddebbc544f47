-- Ends the syncs of a source: the running one notices it before its next page.
-- @none
UPDATE knowledge_sources SET run = run + 1, next_sync_at = NULL, leased_until = NULL WHERE id = :id
