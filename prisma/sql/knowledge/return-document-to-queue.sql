-- Marks a document that was being processed as queued.
-- @none
UPDATE documents SET status = 'queued', updated_at = {times/next-updated-at}
WHERE id = :id AND wanted = :wanted AND status = 'processing'
