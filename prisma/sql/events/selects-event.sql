-- Whether the endpoint `w` selects events of the type {type}. The audit log has the addresses of all users,
-- so an endpoint must name it.
w.enabled AND w.deleted_at IS NULL AND w.event_types && ARRAY[{type}, split_part({type}, '.', 1) || '.*',
  CASE WHEN {type} <> 'audit.recorded' THEN '*' END]
