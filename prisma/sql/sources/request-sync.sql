-- Makes a locked source due now.
-- @one
UPDATE knowledge_sources s SET status = 'queued', next_sync_at = now(), updated_at = now()
FROM knowledge_bases k WHERE s.id = :id AND k.id = s.knowledge_base_id
RETURNING {owned-source-columns}
