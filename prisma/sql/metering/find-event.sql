-- An event of a seller, while events of its time are kept.
-- @optional
-- @type aggregation Schemas['Meter']['aggregation']
SELECT {event-columns}, m.aggregation
FROM usage_events e JOIN meters m ON m.id = e.meter_id
WHERE e.seller = :seller AND e.id = :id AND e.at >= {first-kept-time}
