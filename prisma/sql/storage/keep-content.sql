-- Makes the present content of the file :id a version, if it is kept.
INSERT INTO file_versions (id, file_id, workspace_id, number, blob_key, content_type, declared_content_type,
  bytes, sha256, created_by, created_at, replaced_at)
SELECT :version_id, o.id, o.workspace_id, o.version, o.blob_key, o.content_type, o.declared_content_type,
  o.bytes, o.sha256, coalesce(o.content_by, o.owner_id), coalesce(o.content_updated_at, o.created_at), now()
FROM files o WHERE o.id = :id AND :is_kept
