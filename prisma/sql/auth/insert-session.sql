-- Creates a session.
-- @one
INSERT INTO sign_ins AS s (id, user_id, methods, ip, network, device, in_cookie, scopes, all_scopes,
  project_ids, all_projects, created_at, updated_at, last_used_at, expires_at)
VALUES (:id, :user_id, :methods::text[], :ip?, :network, :device?, :in_cookie,
  coalesce(:scopes?::text[], '{}'), :scopes? IS NULL,
  coalesce(:project_ids?::text[], '{}'), :project_ids? IS NULL, :created_at::timestamptz,
  :created_at::timestamptz, :created_at::timestamptz,
  :created_at::timestamptz + interval '1 second' * least(:idle_seconds::int, :max_seconds::int))
RETURNING {session-columns}
