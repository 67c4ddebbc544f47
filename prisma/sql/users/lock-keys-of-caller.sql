-- Locks a user, so that no other request changes the user's keys, and a key of the user. No row if the key
-- was revoked or expired meanwhile.
-- @optional
SELECT k.id FROM users u JOIN api_keys k ON k.user_id = u.id
WHERE k.id = :id AND k.revoked_at IS NULL AND coalesce(k.expires_at > now(), true)
FOR NO KEY UPDATE OF u, k
