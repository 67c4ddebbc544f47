-- The columns of an UploadLink, except its project, from upload_links l.
-- @type status Schemas['UploadLink']['status']
-- @type metadata Record<string, string>
l.id, l.path, l.title, {upload-link-status} AS status, l.max_bytes, l.content_types,
l.max_files, l.file_count, l.owner_id AS created_by, l.expires_at, l.metadata, l.created_at, l.updated_at
