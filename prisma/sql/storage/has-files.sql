-- Whether the database has any file, avatar or export.
-- @one
SELECT EXISTS (SELECT FROM files) OR EXISTS (SELECT FROM avatars)
  OR EXISTS (SELECT FROM account_exports WHERE blob_key IS NOT NULL) AS has_files
