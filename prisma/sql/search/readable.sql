-- Whether the user :user_id, with an API key for the projects :project_ids (null for all), may read the
-- knowledge base `row`.
CASE WHEN {row}.project_id IS NULL THEN {row}.owner_id = :user_id AND :project_ids?::text[] IS NULL
  ELSE (:project_ids IS NULL OR {row}.project_id = ANY(:project_ids)) AND EXISTS (
    SELECT FROM members m JOIN projects p ON p.id = m.project_id
    WHERE m.project_id = {row}.project_id AND m.user_id = :user_id AND m.ai_role IS NOT NULL
      AND p.status <> 'deleted') END
