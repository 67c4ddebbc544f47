-- Sets when an invitation expires.
-- @one
WITH i AS (UPDATE invitations SET expires_at = :expires_at WHERE id = :id RETURNING *)
SELECT {invitation-columns} FROM i {invitation-names}
