-- Records when API keys were last used.
-- @none
UPDATE api_keys k SET last_used_at = u.at
FROM unnest(:ids::text[], :times::timestamptz[]) AS u(id, at)
WHERE k.id = u.id AND (k.last_used_at IS NULL OR k.last_used_at < u.at)
