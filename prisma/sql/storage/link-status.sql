-- The status of the link `l`. In a project, a link ends when the user who created it leaves the project, may
-- no longer create links, or is disabled.
CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM files g LEFT JOIN members c ON c.project_id = g.project_id AND c.user_id = l.created_by
      LEFT JOIN users creator ON creator.id = c.user_id
    WHERE g.id = l.file_id AND (g.project_id IS NULL
      OR (c.storage_role <= 'editor' AND c.created_at <= l.created_at AND creator.status = 'active'))
  ) THEN 'revoked'
  WHEN l.download_count >= l.max_downloads THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END
