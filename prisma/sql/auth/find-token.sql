-- The address of a one-time token of one of these purposes.
-- @optional
SELECT t.purpose, t.email, t.user_id FROM one_time_tokens t
WHERE t.digest = decode(:digest, 'hex') AND t.purpose = ANY(:purposes) AND t.expires_at > now()
