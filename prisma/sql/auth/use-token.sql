-- Uses a one-time token of one of these purposes. Of several requests, one gets the row.
-- @optional
DELETE FROM one_time_tokens t
WHERE t.digest = decode(:digest, 'hex') AND t.purpose = ANY(:purposes) AND t.expires_at > now()
RETURNING t.purpose, t.email, t.user_id, t.name, t.password_hash
