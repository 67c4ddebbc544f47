-- Whether `{row}` is in a workspace that the user :reader can read: the workspace :own, if it is not null, or
-- a project in which the user's role {role}, a column of `members`, is at least :least_role. Of the projects
-- only :key_projects count, if these are not null.
{row}.workspace_id IN (
  SELECT my.project_id FROM members my
  WHERE my.user_id = :reader AND my.project_status <> 'deleted' AND my.{role} <= :least_role::"MemberRole"
    AND (:key_projects?::text[] IS NULL OR my.project_id = ANY(:key_projects))
  UNION ALL SELECT :own?::text)
