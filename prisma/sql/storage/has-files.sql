-- Whether the database has any file or avatar.
-- @one
SELECT EXISTS (SELECT FROM files) OR EXISTS (SELECT FROM avatars) AS has_files
