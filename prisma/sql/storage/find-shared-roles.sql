-- The best role that shares of folders, and of those above them, give a user, and the user who shares.
-- @many
WITH RECURSIVE above AS (
  SELECT d.id AS folder_id, d.id, d.parent_id
  FROM folders d WHERE d.id = ANY(:folder_ids) AND d.deleted_at IS NULL
  UNION ALL
  SELECT above.folder_id, p.id, p.parent_id FROM above JOIN folders p ON p.id = above.parent_id
)
SELECT DISTINCT ON (above.folder_id) above.folder_id AS "folder_id!", s.role, s.owner_id
FROM above JOIN users u ON u.id = :user_id AND u.email_verified
  JOIN folder_shares s ON s.folder_id = above.id AND s.email = u.email
WHERE {share-status} = 'active'
ORDER BY above.folder_id, s.role, s.created_at
