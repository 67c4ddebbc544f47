-- Gives a locked project to an organization or to a person.
-- @one
UPDATE projects p SET organization_id = :organization_id?, owner_id = :owner_id, version = p.version + 1,
  updated_at = :updated_at
WHERE p.id = :id
RETURNING {project-columns}
