-- A project that exists or can be restored, and the caller's role in it for the scope :scope.
-- @optional
SELECT {project-columns},
  role_by_scope(:scope, m.role, m.storage_role, m.ai_role, m.payments_role) AS your_role
FROM projects p LEFT JOIN members m ON m.project_id = p.id AND m.user_id = :user_id
WHERE p.id = :id
  AND (p.deleted_at IS NULL OR p.deleted_at >= now() - make_interval(days => :restorable_days))
