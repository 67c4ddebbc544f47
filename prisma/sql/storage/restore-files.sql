-- Takes locked files out of the trash, each into a folder.
-- @many
WITH f AS (
  UPDATE files t
  SET trashed_at = NULL, purge_at = NULL, trashed_by = NULL, trashed_path = NULL, folder_id = r.folder_id,
    updated_at = greatest(now(), t.updated_at + interval '1 millisecond')
  FROM unnest(:ids::text[], :folder_ids[?]::text[]) AS r (id, folder_id)
  WHERE t.id = r.id
  RETURNING t.*
)
SELECT {file-columns}, f.project_id, f.owner_id FROM f ORDER BY f.id
