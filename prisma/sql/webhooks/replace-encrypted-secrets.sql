-- Stores the re-encrypted secrets of endpoints, unless a rotation has replaced them.
-- @none
UPDATE webhook_endpoints w SET secret = n.secret, previous_secret = n.previous_secret
FROM unnest(:ids::text[], :known::text[], :secrets::text[], :previous_secrets[?]::text[])
  AS n (id, known, secret, previous_secret)
WHERE w.id = n.id AND w.secret = n.known
