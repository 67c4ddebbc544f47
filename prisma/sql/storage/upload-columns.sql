-- The columns of an upload, from uploads u. `received` says how many bytes are durable, `offset` is the
-- number that the client sees. A client takes an upload whose offset is its length for a finished file. Until
-- the file exists, the offset therefore stays one byte short of the length, and the client sends the last
-- byte again. `temp_name` is the name of the partial file, `holder` the id of the lease holder,
-- `raw_metadata` the Upload-Metadata header, unchanged.
-- `multipart` says where the bytes are in S3; null for a partial file.
-- @type metadata Record<string, string>
-- @type multipart { key: string, id: string, part_size: number, etags: string[], tail: string | null }
u.id, u.project_id, u.file_id, u.name, u.length,
CASE WHEN u.file_id IS NULL THEN greatest(0, least(u.received, u.length - 1)) ELSE u.length END AS offset,
u.received, coalesce(u.temp_name, u.id) AS temp_name, u.holder, u.expires_at, u.created_at, u.updated_at,
u.user_id, u.user_id AS created_by, u.path, u.folder_id, u.declared_content_type, u.visibility,
u.metadata, u.tags, u.file_expires_at, u.sha256, u.on_conflict, u.raw_metadata, u.multipart
