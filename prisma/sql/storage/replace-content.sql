-- Gives a locked file another content, whose blob is stored. `is_kept`: whether the present content becomes a
-- version, with the id `version_id`; without one, its blob comes into quarantine.
-- @one
WITH kept AS (
  {keep-content}
), f AS (
  UPDATE files t
  SET blob_key = :blob_key, bytes = :bytes, sha256 = :sha256, content_type = :content_type,
    declared_content_type = :declared_content_type?, {next-version}
  WHERE t.id = :id
  RETURNING *
)
SELECT {file-columns}, f.project_id, f.owner_id FROM f
