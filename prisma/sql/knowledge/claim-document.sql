-- Marks the document of a job as being processed, unless the job is out of date, and reads what parsing
-- needs. `was_queued`: no lost worker has marked it before. The file may have other content by now: the blob
-- is the one with the SHA-256 of the document, and null if no version has it any more.
-- @optional
WITH was AS (
  SELECT id, status FROM documents
  WHERE id = :id AND wanted = :wanted AND status IN ('queued', 'processing') FOR NO KEY UPDATE
), d AS (
  UPDATE documents SET status = 'processing', updated_at = {times/next-updated-at}
  WHERE id = (SELECT was.id FROM was) RETURNING *
)
SELECT d.id, d.knowledge_base_id, d.name, d.content_type, d.sha256, d.source, d.owner_id, f.blob_key,
  f.declared_content_type, k.project_id, k.max_tokens, k.overlap_tokens,
  was.status = 'queued' AS "was_queued!"
FROM d JOIN was ON true JOIN knowledge_bases k ON k.id = d.knowledge_base_id
LEFT JOIN LATERAL (
  SELECT blob_key, declared_content_type FROM files WHERE id = d.file_id AND sha256 = d.sha256
  UNION ALL
  SELECT blob_key, declared_content_type FROM file_versions WHERE file_id = d.file_id AND sha256 = d.sha256
  LIMIT 1
) f ON true
