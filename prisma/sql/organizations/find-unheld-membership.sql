-- A project in which the user :delegate_id may do more than the user :user_id may give; of all projects, or
-- of :project_ids.
-- @optional
SELECT m.project_id FROM members m
WHERE m.user_id = :delegate_id
  AND (:project_ids?::text[] IS NULL OR m.project_id = ANY(:project_ids?::text[]))
  AND NOT may_give(:user_id, m.project_id, m.role, m.storage_role, m.ai_role, m.payments_role)
LIMIT 1
