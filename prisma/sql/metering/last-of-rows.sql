-- The time and the id of the last event of the rows u of a meter m. Null unless it has last values.
max(u.last_at) FILTER (WHERE m.aggregation = 'last'),
(array_agg(u.last_id ORDER BY u.last_at DESC, u.last_id DESC) FILTER (WHERE m.aggregation = 'last'))[1]
