-- Records when, and from which addresses, API keys and sessions were last used.
-- @none
WITH used AS (
  SELECT u.id, u.at, u.ip FROM unnest(:ids::text[], :times::timestamptz[], :ips::text[]) AS u(id, at, ip)
), sessions AS (
  -- The use of a session in a cookie moves its end by hours, as a refresh does for others.
  UPDATE sign_ins s SET last_used_at = u.at, ip = u.ip,
    expires_at = CASE WHEN s.in_cookie AND u.until > s.expires_at + interval '1 hour'
      THEN least(u.until, s.created_at + interval '1 second' * :max_seconds::int) ELSE s.expires_at END
  FROM (SELECT *, at + interval '1 second' * :idle_seconds::int AS until FROM used) u
  WHERE s.id = u.id AND s.last_used_at < u.at
)
UPDATE api_keys k SET last_used_at = u.at, last_used_ip = u.ip
FROM used u
WHERE k.id = u.id AND (k.last_used_at IS NULL OR k.last_used_at < u.at)
