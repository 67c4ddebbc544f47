-- The address of a one-time token of a purpose, and the identity provider whose identity it links.
-- @optional
SELECT t.email, t.provider FROM one_time_tokens t
WHERE t.digest = decode(:digest, 'hex') AND t.purpose = :purpose AND t.expires_at > now()
