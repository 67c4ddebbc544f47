-- The columns of a SignInSession but `current`, from sign_ins s.
-- @type scopes Schemas['SignInSession']['scopes']
-- @type methods Schemas['SignInSession']['methods']
s.id, s.user_id, s.methods AS "methods!", s.ip, s.device, s.created_at, s.updated_at,
s.last_used_at, s.expires_at, {session-limits}
