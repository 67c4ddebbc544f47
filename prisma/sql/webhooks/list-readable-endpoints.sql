-- The ids of the endpoints of a user whose deliveries an API key with these scopes and projects (null for
-- all) may read, as `keyCanSeeEndpoint` decides.
-- @many
SELECT id FROM webhook_endpoints
WHERE user_id = :user_id AND deleted_at IS NULL AND scopes <@ :key_scopes
  AND (:key_projects?::text[] IS NULL OR (NOT all_projects AND project_ids <@ :key_projects))
