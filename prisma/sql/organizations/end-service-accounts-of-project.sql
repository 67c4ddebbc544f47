-- Deletes the keys and webhook endpoints of the service accounts of a project, and their users, whose name
-- stays.
-- @none
WITH ended AS (
  UPDATE service_accounts SET deleted_at = now() WHERE project_id = :project_id AND deleted_at IS NULL
  RETURNING user_id
), keys AS (
  DELETE FROM api_keys WHERE user_id IN (SELECT user_id FROM ended)
), endpoints AS (
  UPDATE webhook_endpoints SET {webhooks/deleted-endpoint}
  WHERE user_id IN (SELECT user_id FROM ended) AND deleted_at IS NULL
)
UPDATE users SET status = 'deleted', email = NULL WHERE id IN (SELECT user_id FROM ended)
