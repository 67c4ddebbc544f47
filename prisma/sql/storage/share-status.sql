-- The status of the share `s`. It ends when the user who created it is disabled, or leaves the project or may
-- no longer share its folders.
CASE WHEN NOT EXISTS (
    SELECT FROM users creator
      LEFT JOIN members c ON c.project_id = s.project_id AND c.user_id = creator.id
    WHERE creator.id = s.owner_id AND creator.status = 'active'
      AND (s.project_id IS NULL OR (c.storage_role <= 'editor' AND c.created_at <= s.created_at))
  ) THEN 'ended'
  WHEN s.expires_at <= now() THEN 'expired' ELSE 'active' END
