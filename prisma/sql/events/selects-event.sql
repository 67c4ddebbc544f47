-- Whether the endpoint `w` selects events of the type.
w.enabled AND w.deleted_at IS NULL AND w.event_types && ARRAY[:type, split_part(:type, '.', 1) || '.*', '*']
