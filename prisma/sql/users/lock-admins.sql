-- Locks all active admins, ordered by id.
-- @many
SELECT id FROM users WHERE role = 'admin' AND status = 'active' ORDER BY id FOR NO KEY UPDATE
