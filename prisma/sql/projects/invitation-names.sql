-- In FROM, after an invitation `i`: joins its project and the user who invited.
JOIN projects p ON p.id = i.project_id
JOIN users inviter ON inviter.id = i.created_by
