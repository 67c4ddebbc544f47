-- Like `read-message`, but locks the message's project, as every transaction that changes a message must. The
-- lock of the session keeps other writers of the message out.
-- @optional
SELECT {message-columns}, m.user_id, m.key_project_id, {projects/locked-access row=m role=ai_role}
FROM {owned-message}
