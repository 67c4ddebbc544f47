-- Whether a user may give a role, or else a custom role, in a project. No row if the custom role does not
-- exist.
-- @optional
SELECT may_give(:user_id, :project_id, r.projects, r.storage, r.ai, r.payments) AS "allowed!"
FROM (
  SELECT :role?::"MemberRole" AS projects, :role?::"MemberRole" AS storage, :role?::"MemberRole" AS ai,
    :role?::"MemberRole" AS payments WHERE :custom_role_id?::text IS NULL
  UNION ALL
  SELECT c.projects, c.storage, c.ai, c.payments FROM custom_roles c WHERE c.id = :custom_role_id?
) r
