-- The messages of a session before a position, newest first: at most 200 with at most :max_characters
-- together. Leaves out answers from sources that the caller may no longer read, and questions whose answer
-- failed.
-- @many
-- @type tool_calls Schemas['Message']['tool_calls']
SELECT id, role, content, image_file_ids, tool_calls, workspace_ids FROM (
  SELECT m.id, m.role, m.content, m.image_file_ids, m.tool_calls, m.workspace_ids, m.position,
    sum(length(m.content) + coalesce(length(m.tool_calls::text), 0))
      OVER (ORDER BY m.position DESC) AS characters
  FROM ai_messages m
  WHERE m.session_id = :session_id AND m.position < :before
    AND m.status IN ('completed', 'incomplete', 'canceled')
    AND (m.content <> '' OR m.tool_calls IS NOT NULL)
    AND NOT (m.role = 'user' AND EXISTS (
      SELECT 1 FROM ai_messages a WHERE a.session_id = :session_id AND a.status = 'failed'
        AND a.position = (
          SELECT min(n.position) FROM ai_messages n
          WHERE n.session_id = :session_id AND n.position > m.position)))
    AND NOT EXISTS (
      SELECT 1 FROM unnest(m.workspace_ids) AS space (id) WHERE NOT {readable workspace=space.id})
  ORDER BY m.position DESC LIMIT 200
) h WHERE characters <= :max_characters ORDER BY position DESC
