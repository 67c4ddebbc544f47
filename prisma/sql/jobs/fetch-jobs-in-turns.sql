-- Fetches due jobs of a queue, of each turn at most `most`, and of each of its groups at most `each`, in the
-- order of the turns. Lanes and limits of groups do not apply. Jobs that another process is fetching at the
-- moment are skipped.
-- @many
WITH picked AS MATERIALIZED (
  SELECT job.id
  FROM jsonb_to_recordset(:turns::jsonb) AS turn (groups jsonb, most int, "each" int)
  CROSS JOIN LATERAL (
    SELECT due.id FROM jsonb_array_elements_text(turn.groups) AS one (group_id)
    CROSS JOIN LATERAL (
      SELECT id FROM jobs
      WHERE queue = :queue AND lane = 'main' AND due_at <= now() AND group_id = one.group_id
      ORDER BY due_at LIMIT turn."each" FOR UPDATE SKIP LOCKED
    ) due LIMIT turn.most
  ) job LIMIT :count
)
UPDATE jobs SET
  fetches = fetches + 1, fetched_at = now(), due_at = now() + make_interval(secs => :seconds)
WHERE id = ANY (ARRAY(SELECT id FROM picked))
RETURNING id, data, fetches
