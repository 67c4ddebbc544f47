-- An invitation to a project. `verified`: whether the email address of the user is verified; null if the
-- invitation is for another address.
-- @optional
SELECT {invitation-columns}, u.email_verified AS "verified?"
FROM invitations i {invitation-names}
  LEFT JOIN users u ON u.id = :user_id AND u.email = i.email
WHERE i.id = :id AND i.project_id = :project_id
