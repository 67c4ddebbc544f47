-- The columns that decide about the access of the user :user_id to a row with project_id and owner_id.
-- {role}: the column of `members` for the area of the row.
{row}.project_id, {row}.owner_id,
(SELECT your_member.{role} FROM members your_member
 WHERE your_member.project_id = {row}.project_id AND your_member.user_id = :user_id) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = {row}.project_id) AS project_status
