-- The deliveries of the endpoints :endpoint_ids of a user. TypeIDs sort by creation time. Planned for each
-- call: the latest of a busy endpoint are near the end of the table, those of others only in the index.
-- @page
SELECT {delivery-columns}
FROM webhook_deliveries d JOIN events e ON e.id = d.event_id {endpoint-and-member}
WHERE d.endpoint_id = ANY(:endpoint_ids)
-- @filter user_id searches
w.user_id = :user_id
-- @common d.id=whd d.updated_at
-- @filter endpoint_id
d.endpoint_id = :endpoint_id
-- @filter event_id
d.event_id = :event_id
-- @filter status
d.status = ANY(:status)
-- @filter event_type
e.type = ANY(:event_type)
-- @sort created_at
d.id
-- @id
d.id
-- @total user_id
SELECT count(*) AS total FROM webhook_deliveries WHERE endpoint_id = ANY(:endpoint_ids)
