-- A row if there is an active admin besides the user.
-- @optional
SELECT true AS found FROM users WHERE role = 'admin' AND status = 'active' AND id <> :id LIMIT 1
