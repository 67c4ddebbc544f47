-- A session that has not expired.
-- @optional
SELECT {session-columns} FROM sign_ins s WHERE s.id = :id AND s.expires_at > now()
