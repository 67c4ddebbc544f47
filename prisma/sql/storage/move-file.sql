-- Moves a locked file to a workspace and a folder of it. A trigger changes the usage of both workspaces.
-- @none
UPDATE files f
SET project_id = :project_id?, owner_id = :owner_id, workspace_id = coalesce(:project_id?, :owner_id),
  folder_id = :folder_id?, name = :name, updated_at = {times/next-updated-at}
WHERE f.id = :id
