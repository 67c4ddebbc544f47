-- The columns of a File, except its project and its owner, from files f.
-- @type metadata Record<string, string>
f.id, f.name, f.folder_id,
coalesce(f.trashed_path, (SELECT d.path FROM folders d WHERE d.id = f.folder_id), '') AS "path!",
f.content_type, f.declared_content_type, f.bytes, f.sha256,
'"' || f.sha256 || '"' AS etag, f.visibility, f.metadata, f.tags, f.download_count, f.expires_at,
f.version AS content_version, coalesce(f.content_updated_at, f.created_at) AS "content_updated_at!",
f.trashed_at, f.purge_at,
f.owner_id AS created_by, f.created_at, f.updated_at
