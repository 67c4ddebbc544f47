-- Deletes budgets whose subject was deleted.
-- @one
WITH deleted AS (
  DELETE FROM budgets WHERE id IN (
    SELECT b.id FROM budgets b
    WHERE NOT CASE b.subject_type
      WHEN 'user' THEN EXISTS (SELECT FROM users u WHERE u.id = b.subject_id AND u.status <> 'deleted')
      WHEN 'customer' THEN EXISTS (SELECT FROM customers c WHERE c.id = b.subject_id AND c.deleted_at IS NULL)
      WHEN 'key' THEN EXISTS (SELECT FROM api_keys k WHERE k.id = b.subject_id)
      WHEN 'project' THEN EXISTS (SELECT FROM projects p WHERE p.id = b.subject_id)
      ELSE EXISTS (SELECT FROM organizations o WHERE o.id = b.subject_id)
    END
    LIMIT :limit
  )
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
