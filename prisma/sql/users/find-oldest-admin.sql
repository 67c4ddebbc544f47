-- The first active admin of the installation.
-- @optional
SELECT id FROM users WHERE role = 'admin' AND status = 'active' ORDER BY created_at, id LIMIT 1
