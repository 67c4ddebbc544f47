-- Queues an export.
-- @one
INSERT INTO account_exports AS e (id, user_id, created_at, updated_at)
VALUES (:id, :user_id, :created_at, :created_at)
RETURNING {export-columns}
