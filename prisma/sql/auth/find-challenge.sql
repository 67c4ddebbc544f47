-- A challenge of a user, or of a sign-in, that has not expired.
-- @optional
SELECT c.expires_at FROM passkey_challenges c
WHERE c.digest = decode(:digest, 'hex') AND c.user_id IS NOT DISTINCT FROM :user_id? AND c.expires_at > now()
