-- The columns of a FileLink, from file_links l and its file f.
-- @type status Schemas['FileLink']['status']
-- @type metadata Record<string, string>
l.id, l.file_id, f.project_id, {link-status} AS status, l.max_downloads, l.download_count, l.created_by,
l.expires_at, l.metadata, l.created_at, l.updated_at
