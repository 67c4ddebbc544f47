-- Whether the endpoint `w` of the user `u` selects events of the type and the scope.
w.enabled AND w.deleted_at IS NULL AND :scope = ANY(w.scopes)
  AND w.event_types && ARRAY[:type, '*'] AND u.status = 'active'
