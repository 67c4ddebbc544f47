-- Takes a file out of the trash, into a folder.
-- @one
WITH f AS (
  UPDATE files t
  SET trashed_at = NULL, purge_at = NULL, trashed_by = NULL, trashed_path = NULL, folder_id = :folder_id?,
    name = :name, updated_at = greatest(now(), t.updated_at + interval '1 millisecond')
  WHERE t.id = :id
  RETURNING *
)
SELECT {file-columns}, f.project_id, f.owner_id FROM f
