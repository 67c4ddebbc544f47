-- A share that counts for a user.
-- @optional
SELECT {share-columns}
FROM users u JOIN folder_shares s ON s.email = u.email JOIN folders d ON d.id = s.folder_id
  LEFT JOIN projects p ON p.id = s.project_id
WHERE s.id = :id AND u.id = :user_id AND u.email_verified AND d.deleted_at IS NULL
  AND {share-status} = 'active' AND (p.id IS NULL OR p.status <> 'deleted')
