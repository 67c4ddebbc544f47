-- The endpoints of a user.
-- @page
SELECT {endpoint-columns}
FROM webhook_endpoints
WHERE user_id = :user_id AND deleted_at IS NULL
-- @common webhook_endpoints.created_at webhook_endpoints.updated_at webhook_endpoints.metadata
-- @filter enabled
enabled = :enabled
-- @filter key_projects
NOT all_projects AND project_ids <@ :key_projects
-- @sort created_at
created_at
-- @sort updated_at
webhook_endpoints.updated_at
-- @id
id
