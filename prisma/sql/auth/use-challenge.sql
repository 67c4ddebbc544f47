-- Uses a challenge. Of several requests, one gets the row.
-- @optional
DELETE FROM passkey_challenges c WHERE c.digest = decode(:digest, 'hex') AND c.expires_at > now()
RETURNING c.expires_at
