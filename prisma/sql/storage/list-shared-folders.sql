-- The shares that count for a user: those with the verified email address of the user.
-- @page
SELECT {share-columns}
FROM users u JOIN folder_shares s ON s.email = u.email JOIN folders d ON d.id = s.folder_id
  LEFT JOIN projects p ON p.id = s.project_id
WHERE u.id = :user_id AND u.email_verified AND d.deleted_at IS NULL AND {share-status} = 'active'
  AND (p.id IS NULL OR p.status <> 'deleted')
-- @common s.id=shr
-- @filter project_ids
s.project_id = ANY(:project_ids)
-- @sort created_at
s.id
-- @id
s.id
