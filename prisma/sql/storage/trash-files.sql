-- Moves files to the trash.
-- @many
WITH f AS (
  UPDATE files t
  SET trashed_at = now(), purge_at = now() + make_interval(days => :days), trashed_by = :user_id,
    trashed_path = coalesce((SELECT d.path FROM folders d WHERE d.id = t.folder_id), ''), folder_id = NULL,
    updated_at = greatest(now(), t.updated_at + interval '1 millisecond')
  WHERE t.id = ANY(:ids) AND t.trashed_at IS NULL
  RETURNING *
)
SELECT {file-columns}, f.project_id, f.owner_id FROM f ORDER BY f.id
