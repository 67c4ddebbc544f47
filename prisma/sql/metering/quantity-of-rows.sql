-- The quantity of the rows u of a meter m.
CASE m.aggregation
  WHEN 'max' THEN max(u.quantity)
  WHEN 'last' THEN (array_agg(u.quantity ORDER BY u.last_at DESC, u.last_id DESC))[1]
  ELSE sum(u.quantity)
END
