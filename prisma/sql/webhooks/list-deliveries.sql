-- The deliveries of an endpoint.
-- @page
SELECT {delivery-columns}
FROM webhook_deliveries d JOIN events e ON e.id = d.event_id {endpoint-and-member}
WHERE d.endpoint_id = :endpoint_id
-- @common d.created_at d.updated_at
-- @filter status
d.status = ANY(:status)
-- @filter event_type searches
e.type = ANY(:event_type)
-- @sort created_at
d.created_at
-- @id
d.id
-- @total
SELECT count(*) AS total FROM webhook_deliveries WHERE endpoint_id = :endpoint_id
-- @total status
SELECT count(*) AS total FROM webhook_deliveries WHERE endpoint_id = :endpoint_id AND status = ANY(:status)
