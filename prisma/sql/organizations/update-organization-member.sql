-- Sets the role of a member. An invitation is from then on that of the user who set it.
-- @one
WITH m AS (UPDATE organization_members SET role = :role,
    created_by = CASE WHEN status = 'invited' THEN :author_id ELSE created_by END
  WHERE id = :id RETURNING *)
SELECT {organization-member-columns} FROM m {member-user}
