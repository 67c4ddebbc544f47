-- The address of a one-time token of a purpose.
-- @optional
SELECT t.email FROM one_time_tokens t
WHERE t.digest = decode(:digest, 'hex') AND t.purpose = :purpose AND t.expires_at > now()
