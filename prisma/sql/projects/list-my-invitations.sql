-- The pending invitations of a user, by id or by verified email address, to projects that are not deleted.
-- @page
SELECT {invitation-columns}
FROM users u
  JOIN invitations i ON i.user_id = u.id OR (i.email = u.email AND u.email_verified)
  {invitation-names}
WHERE u.id = :user_id AND p.status <> 'deleted' AND i.status = 'pending' AND {invitation-status} = 'pending'
-- @common i.created_at i.updated_at i.metadata
-- @filter project_ids
i.project_id = ANY(:project_ids)
-- @sort created_at
i.created_at
-- @sort updated_at
i.updated_at
-- @id
i.id
