-- An invitation to a project. `verified`: whether the user is invited by id, or has verified the invited
-- email address; null if the invitation is for another user or address.
-- @optional
SELECT {invitation-columns}, coalesce(u.id = i.user_id, u.email_verified) AS "verified?"
FROM invitations i {invitation-names}
  LEFT JOIN users u ON u.id = :user_id AND (u.email = i.email OR u.id = i.user_id)
WHERE i.id = :id AND i.project_id = :project_id
