-- The number of folders of a workspace, with those that are being deleted.
-- @one
SELECT count(*)::int AS n FROM folders d WHERE d.workspace_id = :workspace_id
