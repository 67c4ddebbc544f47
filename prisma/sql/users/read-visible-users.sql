-- The public data of those of the users :ids whom the user :reader may see: the reader, members of the
-- reader's projects (only of :key_projects, if these are not null), and all users for an operator.
-- @many
SELECT u.id, u.name, u.email AS "email!", :origin || u.avatar_url AS avatar_url
FROM users u
WHERE u.id = ANY(:ids) AND u.status <> 'deleted' AND (:is_operator OR u.id = :reader OR u.id IN (
  SELECT their.user_id FROM members their
  WHERE their.user_id = ANY(:ids) AND their.project_id IN (
    SELECT my.project_id FROM members my
    WHERE my.user_id = :reader AND my.project_status <> 'deleted'
      AND (:key_projects?::text[] IS NULL OR my.project_id = ANY(:key_projects)))))
