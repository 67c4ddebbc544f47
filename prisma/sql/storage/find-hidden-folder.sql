-- A folder that a job deletes, and the path of its parent if that is visible.
-- @optional
SELECT d.name, d.path, p.id AS "parent_id?", p.path AS "parent_path?"
FROM folders d LEFT JOIN folders p ON p.id = d.parent_id AND p.deleted_at IS NULL
WHERE d.id = :id AND d.deletion_job_id = :job_id
