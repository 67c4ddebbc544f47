-- Whether a webhook endpoint of an operator receives the entries of the audit log.
-- @one
SELECT EXISTS (
  SELECT 1 FROM users u JOIN webhook_endpoints w ON w.user_id = u.id
  WHERE u.role = 'admin' AND u.status = 'active' AND w.all_projects AND 'admin' = ANY(w.scopes)
    AND {events/selects-event type=:type}
) AS "found!"
