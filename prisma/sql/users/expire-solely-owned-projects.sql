-- Removes the members of the deleted projects that have no owner besides the user, so that no one can restore
-- them, and makes them old enough to be purged.
-- @none
WITH expired AS (
  UPDATE projects p SET deleted_at = now() - make_interval(days => :days) FROM members m
  WHERE m.project_id = p.id AND m.user_id = :user_id AND m.role = 'owner' AND p.status = 'deleted'
    AND NOT EXISTS (
      SELECT 1 FROM members o WHERE o.project_id = p.id AND o.role = 'owner' AND o.user_id <> :user_id
    )
  RETURNING p.id
)
DELETE FROM members WHERE project_id IN (SELECT id FROM expired)
