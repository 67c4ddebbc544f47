-- Sets the tags and the metadata of locked files. `changes`: an array of objects with their ids.
-- @many
WITH f AS (
  UPDATE files t
  SET tags = r.tags, metadata = r.metadata,
    updated_at = greatest(now(), t.updated_at + interval '1 millisecond')
  FROM jsonb_to_recordset(:changes::jsonb) AS r (id text, tags text[], metadata jsonb)
  WHERE t.id = r.id
  RETURNING t.*
)
SELECT {file-columns}, f.project_id, f.owner_id FROM f ORDER BY f.id
