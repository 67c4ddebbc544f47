-- Updates a locked project.
-- @none
UPDATE projects p SET {=project-fields}, status = :status, archived_at = :archived_at?,
  deleted_at = :deleted_at?, version = :version, updated_at = :updated_at
WHERE p.id = :id
