-- The user's role in a project for the scope :scope, null for none, and whether the project is deleted.
-- @optional
SELECT role_by_scope(:scope, m.role, m.storage_role, m.ai_role, m.payments_role) AS "role?",
  p.status = 'deleted' AS deleted
FROM projects p LEFT JOIN members m ON m.project_id = p.id AND m.user_id = :user_id
WHERE p.id = :project_id
