-- Locks some of the files that are left in the folders that a job deletes.
-- @many
SELECT f.id
FROM folders d JOIN files f ON f.folder_id = d.id
WHERE d.deletion_job_id = :job_id AND f.trashed_at IS NULL
LIMIT :limit
FOR NO KEY UPDATE OF f
