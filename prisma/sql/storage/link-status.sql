-- The status of the link `l`.
CASE WHEN l.revoked_at IS NOT NULL THEN 'revoked'
  WHEN l.download_count >= l.max_downloads THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END
