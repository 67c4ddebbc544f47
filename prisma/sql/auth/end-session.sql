-- Ends a session.
-- @optional
DELETE FROM sign_ins s WHERE s.id = :id RETURNING {session-columns}
