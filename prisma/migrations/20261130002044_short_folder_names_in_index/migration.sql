-- A name has up to 1024 characters, and an entry of an index at most 2704 bytes.
DROP INDEX folders_name_idx;
CREATE INDEX folders_name_idx ON folders (workspace_id, parent_id, left(lower(name), 255), id)
  WHERE deleted_at IS NULL;
