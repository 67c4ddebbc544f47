-- The status of the upload link `l`. It ends when the user who created it is disabled, or leaves the project
-- or may no longer upload there.
CASE WHEN l.revoked_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM users creator
      LEFT JOIN members c ON c.project_id = l.project_id AND c.user_id = creator.id
    WHERE creator.id = l.owner_id AND creator.status = 'active'
      AND (l.project_id IS NULL OR (c.storage_role <= 'editor' AND c.created_at <= l.created_at))
  ) THEN 'revoked'
  WHEN l.file_count >= l.max_files THEN 'used_up'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END
