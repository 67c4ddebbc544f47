-- Makes the longest-standing owner of a project its main owner, if the main owner is no longer an owner.
-- @none
UPDATE projects p SET owner_id = o.user_id FROM (
  SELECT user_id FROM members WHERE project_id = :id AND role = 'owner' ORDER BY created_at, id LIMIT 1
) o
WHERE p.id = :id AND NOT EXISTS (
  SELECT FROM members m WHERE m.project_id = p.id AND m.user_id = p.owner_id AND m.role = 'owner'
)
