-- Locks the usage of a workspace: changes of its files wait.
-- @none
INSERT INTO storage_usage AS u (workspace_id) VALUES (:workspace_id)
ON CONFLICT (workspace_id) DO UPDATE SET files = u.files
