-- A session with what decides about its user.
-- @type scopes Schemas['SignInSession']['scopes']
-- @optional
SELECT s.id, s.user_id, s.in_cookie, s.expires_at, u.status, u.role, {session-limits}
FROM sign_ins s JOIN users u ON u.id = s.user_id
WHERE s.id = :id
