-- Whether the user :user_id, with an API key for the projects :project_ids (null for all), may read a
-- workspace.
CASE WHEN {workspace} = :user_id THEN :project_ids?::text[] IS NULL
  ELSE (:project_ids::text[] IS NULL OR {workspace} = ANY(:project_ids)) AND EXISTS (
    SELECT 1 FROM members r
    WHERE r.project_id = {workspace} AND r.user_id = :user_id AND r.ai_role IS NOT NULL
      AND r.project_status <> 'deleted') END
