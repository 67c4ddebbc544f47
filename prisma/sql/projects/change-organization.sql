-- Gives a locked project to an organization or to a person, unless they have as many as they may have.
-- @one
UPDATE projects p SET organization_id = :organization_id?, owner_id = :owner_id, version = p.version + 1,
  updated_at = :updated_at
WHERE p.id = :id AND set_config('platform.transfer', 'on', true) = 'on'
RETURNING {project-columns}
