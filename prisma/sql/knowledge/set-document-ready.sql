-- Marks a document as parsed. A new text makes a new revision.
-- @one
WITH d AS (
  UPDATE documents SET status = 'ready', error = NULL, revision = revision + CASE WHEN :is_new THEN 1
    ELSE 0 END,
    charset = :charset?, warnings = :warnings, tokens = :tokens, chunk_count = :chunk_count,
    embedding_model = :embedding_model?,
    indexed_at = now(), updated_at = {times/next-updated-at}
  WHERE id = :id RETURNING *
)
SELECT {owned-document-columns} FROM d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
