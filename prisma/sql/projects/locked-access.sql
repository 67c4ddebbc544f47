-- Like `access`, but also locks the project, so that it cannot be archived, and the member cannot lose the
-- role, before the transaction ends.
{row}.project_id, {row}.owner_id,
(locked_member({row}.project_id, :user_id)).{role} AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = {row}.project_id FOR SHARE) AS project_status
