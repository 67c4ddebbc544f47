-- A page of the deliveries of an endpoint by creation time in the given direction, with the total. Not a
-- @page: the page is selected from webhook_deliveries alone, and only its rows are joined. A page past the
-- end is a single row with the total and no delivery.
SELECT t.total, x.* FROM (
  SELECT count(*)::int AS total FROM webhook_deliveries
  WHERE endpoint_id = :endpoint_id AND (status = :status? OR :status IS NULL)
) t LEFT JOIN LATERAL (
  SELECT {delivery-columns} FROM (
    SELECT * FROM webhook_deliveries
    WHERE endpoint_id = :endpoint_id AND (status = :status OR :status IS NULL)
    ORDER BY created_at {direction}, id {direction} LIMIT :limit OFFSET :offset
  ) d JOIN events e ON e.id = d.event_id {endpoint-and-member}
  ORDER BY d.created_at {direction}, d.id {direction}
) x ON true
