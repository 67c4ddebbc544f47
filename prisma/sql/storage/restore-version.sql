-- Makes a locked version the content of its locked file, with the same blob. `is_kept`: whether the present
-- content becomes a version, with the id `version_id`; without one, its blob comes into quarantine.
-- @one
WITH restored AS (
  DELETE FROM file_versions WHERE id = :restored_id AND file_id = :id RETURNING *
), kept AS (
  {keep-content}
), f AS (
  UPDATE files t
  SET blob_key = r.blob_key, bytes = r.bytes, sha256 = r.sha256, content_type = r.content_type,
    declared_content_type = r.declared_content_type, {next-version}
  FROM restored r WHERE t.id = :id
  RETURNING t.*
)
SELECT {file-columns}, f.project_id, f.owner_id FROM f
