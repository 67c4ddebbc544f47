-- In FROM: the message :id with its project and the owner of its session, as `m`. Without a session it is in
-- no project; a key that is limited to projects then needs the project of the request, `key_project_id`.
(
  SELECT m.*, s.project_id, coalesce(s.owner_id, m.user_id) AS owner_id,
    CASE WHEN m.session_id IS NULL THEN m.usage_project_id END AS key_project_id
  FROM ai_messages m LEFT JOIN ai_sessions s ON s.id = m.session_id
  WHERE m.id = :id
) m
