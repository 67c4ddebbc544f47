-- The best role that shares of a folder, and of those above it, give a user, and the user who shares.
-- @optional
WITH RECURSIVE above AS (
  SELECT d.id, d.parent_id FROM folders d WHERE d.id = :folder_id AND d.deleted_at IS NULL
  UNION ALL
  SELECT p.id, p.parent_id FROM above JOIN folders p ON p.id = above.parent_id
)
SELECT s.role, s.owner_id
FROM above JOIN users u ON u.id = :user_id AND u.email_verified
  JOIN folder_shares s ON s.folder_id = above.id AND s.email = u.email
WHERE {share-status} = 'active'
ORDER BY s.role, s.created_at LIMIT 1
