-- A row if the user is an active admin.
-- @optional
SELECT true AS found FROM users WHERE role = 'admin' AND status = 'active' AND id = :id
