-- The folder with a path, created with those above it if there is none: see the function. Null if the
-- workspace has too many folders.
-- @one
SELECT folder AS "id?", created AS "created!"
FROM ensure_folder(:workspace_id, :project_id?, :owner_id, :path, :most)
