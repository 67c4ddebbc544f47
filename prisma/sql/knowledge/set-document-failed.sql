-- Marks a document as failed. Without `warnings` those of the index that it still has stay.
-- @one
WITH d AS (
  UPDATE documents SET status = 'failed', error = :error, warnings = coalesce(:warnings?, warnings),
    updated_at = {times/next-updated-at}
  WHERE id = :id RETURNING *
)
SELECT {owned-document-columns} FROM d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
