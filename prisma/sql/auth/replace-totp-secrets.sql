-- Stores the re-encrypted secrets of second factors, unless a new set-up has replaced them.
-- @none
UPDATE user_totp t SET secret = n.secret
FROM unnest(:ids::text[], :known::text[], :secrets::text[]) AS n (id, known, secret)
WHERE t.user_id = n.id AND t.secret = n.known
