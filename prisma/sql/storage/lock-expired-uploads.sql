-- Locks expired uploads that have no lease and that no other transaction has locked.
-- @many
SELECT {upload-columns} FROM uploads u
WHERE u.expires_at <= now() AND coalesce(u.held_until < now(), true)
ORDER BY u.expires_at LIMIT :limit
FOR UPDATE SKIP LOCKED
