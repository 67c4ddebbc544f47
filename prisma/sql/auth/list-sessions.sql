-- The sessions of a user that have not ended.
-- @page
SELECT {session-columns}, s.id = :current AS "current!"
FROM sign_ins s
WHERE s.user_id = :user_id AND s.expires_at > now()
-- @common s.id=ses s.updated_at
-- @sort created_at
s.id
-- @id
s.id
