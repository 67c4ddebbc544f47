-- Locks a file for its deletion if it has expired and no other transaction has locked it. The job that
-- deletes a folder counts the files in it.
-- @optional
SELECT {file-columns}, f.project_id, f.owner_id
FROM files f
WHERE f.id = :id AND f.expires_at <= now() AND {is-in-kept-folder}
FOR UPDATE OF f SKIP LOCKED
