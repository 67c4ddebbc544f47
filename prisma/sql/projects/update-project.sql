-- Updates a locked project.
-- @one
UPDATE projects p SET {=project-fields}, status = :status, archived_at = :archived_at?,
  deleted_at = :deleted_at?, version = p.version + 1, updated_at = :updated_at
WHERE p.id = :id
RETURNING {project-columns}
