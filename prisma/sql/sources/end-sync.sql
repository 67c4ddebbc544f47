-- Ends the sync `run` of a source. A source that fails is synced less often, but every week.
-- @optional
UPDATE knowledge_sources s
SET status = :status, error = :error?::jsonb, last_sync = :last_sync::jsonb, last_synced_at = now(),
  failures = :failures, leased_until = NULL, updated_at = now(),
  next_sync_at = CASE WHEN s.sync_interval_hours IS NOT NULL THEN now() + least(
    s.sync_interval_hours * power(2, least(:failures::int, 10)), greatest(168, s.sync_interval_hours)
  ) * interval '1 hour' END
FROM knowledge_bases k
WHERE s.id = :id AND s.run = :run AND k.id = s.knowledge_base_id
RETURNING {owned-source-columns}
