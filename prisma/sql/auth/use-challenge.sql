-- Uses a challenge of a user, or of a sign-in. Of several requests, one gets the row.
-- @optional
DELETE FROM passkey_challenges c
WHERE c.digest = decode(:digest, 'hex') AND c.user_id IS NOT DISTINCT FROM :user_id? AND c.expires_at > now()
RETURNING c.expires_at
