-- Sets the status of an invitation.
-- @one
WITH i AS (UPDATE invitations SET status = :status WHERE id = :id RETURNING *)
SELECT {invitation-columns} FROM i {invitation-names}
