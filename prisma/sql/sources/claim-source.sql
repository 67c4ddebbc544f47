-- Takes a due source of an owner who has no other sync: first of the owner whose last turn is the longest
-- ago, then the source that has been due for the longest time. A lease that has ended is of a worker that
-- died.
-- @optional
WITH next AS MATERIALIZED (
  SELECT due.id, coalesce(p.owner_id, k.workspace_id) AS owner_id
  FROM knowledge_sources due JOIN knowledge_bases k ON k.id = due.knowledge_base_id
    LEFT JOIN projects p ON p.id = k.project_id
    LEFT JOIN source_turns t ON t.owner_id = coalesce(p.owner_id, k.workspace_id)
  WHERE due.next_sync_at <= now() AND (due.leased_until IS NULL OR due.leased_until < now())
    AND (k.project_id IS NULL OR p.status = 'active')
    AND coalesce(p.owner_id, k.workspace_id) NOT IN (
      SELECT coalesce(q.owner_id, o.workspace_id)
      FROM knowledge_sources busy JOIN knowledge_bases o ON o.id = busy.knowledge_base_id
        LEFT JOIN projects q ON q.id = o.project_id
      WHERE busy.leased_until >= now())
  ORDER BY t.claimed_at NULLS FIRST, due.next_sync_at LIMIT 1 FOR NO KEY UPDATE OF due SKIP LOCKED
), turn AS (
  INSERT INTO source_turns (owner_id, claimed_at) SELECT owner_id, now() FROM next
  ON CONFLICT (owner_id) DO UPDATE SET claimed_at = excluded.claimed_at
)
UPDATE knowledge_sources s
SET status = 'syncing', run = s.run + 1, leased_until = now() + :lease_seconds * interval '1 second'
FROM next WHERE s.id = next.id
RETURNING s.id, s.run, s.type, s.url, s.knowledge_base_id, s.created_by, s.failures
