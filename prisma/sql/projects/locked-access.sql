-- Like `access`, but also locks the project, so that it cannot be archived before the transaction ends.
{row}.project_id, {row}.owner_id,
(SELECT your_member.{role} FROM members your_member
 WHERE your_member.project_id = {row}.project_id AND your_member.user_id = :user_id) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = {row}.project_id FOR SHARE) AS project_status
