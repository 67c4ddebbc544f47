-- Servers of the version before set only paths: see the trigger `files_set_folder`.
DROP INDEX files_path_idx;
DROP INDEX files_folder_idx;
DROP INDEX files_place_idx;
CREATE INDEX "files_folder_id_id_idx" ON "files"("folder_id", "id");
CREATE INDEX files_place_idx ON files (workspace_id, hashtextextended(normalize(name, NFC), 0),
  coalesce(folder_id, ''));
CREATE INDEX files_level_idx ON files (workspace_id, folder_id, lower(name), id) WHERE trashed_at IS NULL;
CREATE INDEX files_root_idx ON files (workspace_id, id) WHERE folder_id IS NULL AND trashed_at IS NULL;
CREATE INDEX files_purge_idx ON files (purge_at, id) WHERE trashed_at IS NOT NULL;
CREATE INDEX files_trash_idx ON files (workspace_id, trashed_at, id) WHERE trashed_at IS NOT NULL;

-- Each path of a file, and each path above it, becomes a folder.
WITH places AS (
  SELECT DISTINCT ON (workspace_id, normalize(path, NFC))
    workspace_id, project_id, owner_id, string_to_array(normalize(path, NFC), '/') AS names
  FROM files WHERE path <> '' AND folder_id IS NULL
  ORDER BY workspace_id, normalize(path, NFC), id
), paths AS (
  SELECT DISTINCT ON (workspace_id, path) workspace_id, project_id, owner_id, name, path
  FROM (
    SELECT workspace_id, project_id, owner_id, names[n] AS name, array_to_string(names[1:n], '/') AS path
    FROM places, generate_series(1, cardinality(names)) n
  ) p
  ORDER BY workspace_id, path
)
INSERT INTO folders (id, project_id, owner_id, workspace_id, name, path, created_at, updated_at)
SELECT new_id('fld', now()), project_id, owner_id, workspace_id, name, path, now(), now() FROM paths
ON CONFLICT DO NOTHING;

UPDATE folders f SET parent_id = p.id
FROM folders p
WHERE f.parent_id IS NULL AND p.workspace_id = f.workspace_id AND p.deleted_at IS NULL
  AND md5(p.path) = md5(left(f.path, -length(f.name) - 1))
  AND p.path = left(f.path, -length(f.name) - 1);

UPDATE files f SET folder_id = d.id
FROM folders d
WHERE f.path <> '' AND f.folder_id IS NULL AND d.workspace_id = f.workspace_id AND d.deleted_at IS NULL
  AND md5(d.path) = md5(normalize(f.path, NFC)) AND d.path = normalize(f.path, NFC);
