-- The number of files in the trash of a workspace, and when the last one came there.
-- @one
SELECT count(*) AS "files!", max(f.trashed_at) AS "last_at?"
FROM files f WHERE f.workspace_id = :workspace_id AND f.trashed_at IS NOT NULL
