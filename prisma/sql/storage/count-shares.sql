-- The shares of a folder.
-- @one
SELECT count(*)::int AS "n!" FROM folder_shares WHERE folder_id = :folder_id
