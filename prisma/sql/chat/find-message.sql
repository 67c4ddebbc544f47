-- A message with the citations that the user may read, without authorization.
-- @optional
SELECT {message-columns}, m.project_id, m.user_id, m.owner_id
FROM {owned-message}
