-- Takes the source that has been due for the longest time, of a workspace that has no other sync. A lease
-- that has ended is of a worker that died.
-- @optional
UPDATE knowledge_sources s
SET status = 'syncing', run = s.run + 1, leased_until = now() + :lease_seconds * interval '1 second'
FROM knowledge_bases b
WHERE b.id = s.knowledge_base_id AND s.id = (
  SELECT due.id
  FROM knowledge_sources due JOIN knowledge_bases k ON k.id = due.knowledge_base_id
    LEFT JOIN projects p ON p.id = k.project_id
  WHERE due.next_sync_at <= now() AND (due.leased_until IS NULL OR due.leased_until < now())
    AND (k.project_id IS NULL OR p.status = 'active')
    AND NOT EXISTS (
      SELECT FROM knowledge_sources busy JOIN knowledge_bases o ON o.id = busy.knowledge_base_id
      WHERE busy.leased_until >= now() AND o.workspace_id = k.workspace_id)
  ORDER BY due.next_sync_at LIMIT 1 FOR NO KEY UPDATE OF due SKIP LOCKED
)
RETURNING s.id, s.run, s.type, s.url, s.knowledge_base_id, s.created_by, s.failures
