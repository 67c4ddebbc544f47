-- Uses a one-time token of a purpose. Of several requests, one gets the row.
-- @optional
DELETE FROM one_time_tokens t
WHERE t.digest = decode(:digest, 'hex') AND t.purpose = :purpose AND t.expires_at > now()
RETURNING t.email, t.user_id, t.name, t.provider, t.subject
