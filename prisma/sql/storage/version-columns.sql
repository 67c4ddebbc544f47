-- The columns of a FileVersion, from file_versions v.
v.id, v.file_id, v.number, v.bytes, v.sha256, '"' || v.sha256 || '"' AS etag, v.content_type,
v.declared_content_type, v.created_by, v.created_at, v.replaced_at
