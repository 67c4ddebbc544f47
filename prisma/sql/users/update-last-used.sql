-- Records when, and from which addresses, API keys were last used.
-- @none
UPDATE api_keys k SET last_used_at = u.at, last_used_ip = u.ip
FROM unnest(:ids::text[], :times::timestamptz[], :ips::text[]) AS u(id, at, ip)
WHERE k.id = u.id AND (k.last_used_at IS NULL OR k.last_used_at < u.at)
