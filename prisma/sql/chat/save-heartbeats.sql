-- Stores a heartbeat of answers in progress. Returns those that are still in progress.
-- @many
UPDATE ai_messages SET heartbeat_at = now() WHERE id = ANY(:ids) AND status = 'in_progress' RETURNING id
