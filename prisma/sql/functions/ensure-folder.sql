-- The folder with a path, which is created with the folders above it if there is none. Null for the root, and
-- if the workspace would have more than `most` folders. `created`: the ids of the new folders, outermost
-- first. Locks the storage of the workspace, so that no folder on the path is moved or deleted meanwhile.
CREATE OR REPLACE FUNCTION ensure_folder(workspace text, project text, owner text, wanted text, most integer,
  OUT folder text, OUT created text[])
LANGUAGE plpgsql
AS $function$
DECLARE
  names text[] := string_to_array(normalize(wanted, NFC), '/');
  above text;
  its_path text;
  missing int;
BEGIN
  created := '{}';
  IF wanted = '' THEN
    RETURN;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('uploads ' || workspace, 0));
  -- From the inside outwards: mostly the folder itself exists.
  FOR n IN REVERSE cardinality(names)..1 LOOP
    its_path := array_to_string(names[1:n], '/');
    SELECT f.id INTO above FROM folders f
    WHERE f.workspace_id = workspace AND md5(f.path) = md5(its_path) AND f.path = its_path
      AND f.deleted_at IS NULL;
    missing := cardinality(names) - n;
    EXIT WHEN FOUND;
    missing := cardinality(names);
  END LOOP;
  IF missing > 0 AND missing + (SELECT count(*) FROM folders f WHERE f.workspace_id = workspace) > most THEN
    RETURN;
  END IF;
  FOR n IN cardinality(names) - missing + 1..cardinality(names) LOOP
    INSERT INTO folders
      (id, project_id, owner_id, workspace_id, parent_id, name, path, created_at, updated_at)
    VALUES (new_id('fld', clock_timestamp()), project, owner, workspace, above, names[n],
      array_to_string(names[1:n], '/'), now(), now())
    RETURNING id INTO above;
    created := created || above;
  END LOOP;
  folder := above;
END $function$;
