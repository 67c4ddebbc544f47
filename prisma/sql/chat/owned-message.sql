-- In FROM: the message :id with its project and the owner of its session, as `m`.
(
  SELECT m.*, s.project_id, coalesce(s.owner_id, m.user_id) AS owner_id
  FROM ai_messages m LEFT JOIN ai_sessions s ON s.id = m.session_id
  WHERE m.id = :id
) m
