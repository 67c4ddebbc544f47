-- Gives the projects whose `owner_id` is the user to their longest-standing other owners.
-- @none
UPDATE projects p SET version = version + 1, owner_id = o.user_id,
  updated_at = {times/next-updated-at}
FROM (
  SELECT DISTINCT ON (m.project_id) m.project_id, m.user_id
  FROM projects owned JOIN members m ON m.project_id = owned.id
  WHERE owned.owner_id = :user_id AND m.role = 'owner' AND m.user_id <> :user_id
  ORDER BY m.project_id, m.created_at, m.id
) o
WHERE o.project_id = p.id
