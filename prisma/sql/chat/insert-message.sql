-- Inserts a message at the end of its session. The caller has locked the session, so that the position is
-- unique.
-- @none
INSERT INTO ai_messages (id, session_id, usage_project_id, user_id, api_key_id, role, content,
  image_file_ids, status, model,
  metadata, workspace_ids, searched, reserved_tokens,
  reserved_cost_micros, budget_ids, key_digest, body_hash, heartbeat_at, created_at,
  position)
VALUES (:id, :session_id?, :usage_project_id?, :user_id, :api_key_id, :role, :content,
  :image_file_ids,
  :status::"MessageStatus", :model?, :metadata, :workspace_ids, :searched?, :reserved_tokens,
  :reserved_cost_micros, CASE WHEN :status = 'in_progress' THEN reserve_budgets(:user_id, :api_key_id,
    coalesce(:usage_project_id, ''), true, :heartbeat_timeout_seconds) ELSE '{}' END, :key_digest?,
  :body_hash?, CASE WHEN :status = 'in_progress' THEN now() END, :created_at,
  (SELECT coalesce(max(position), 0) + 1 FROM ai_messages WHERE session_id = :session_id))
