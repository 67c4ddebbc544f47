-- Whether a user may give a role in an organization.
-- @one
SELECT may_give_in_organization(:user_id, :organization_id, :role) AS "allowed!"
