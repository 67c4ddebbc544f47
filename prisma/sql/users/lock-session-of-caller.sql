-- Locks a user, so that no other request changes the user's keys, and a session of the user. No row if the
-- session has ended meanwhile.
-- @optional
SELECT s.id FROM users u JOIN sign_ins s ON s.user_id = u.id
WHERE s.id = :id AND s.expires_at > now()
FOR NO KEY UPDATE OF u, s
