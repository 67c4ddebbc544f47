-- The newest sessions of a user that have not ended.
-- @many
SELECT {session-columns}, s.id = :current AS "current!"
FROM sign_ins s
WHERE s.user_id = :user_id AND s.expires_at > now()
ORDER BY s.id DESC
LIMIT :limit
