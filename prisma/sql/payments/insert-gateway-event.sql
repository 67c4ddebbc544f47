-- Records a processed webhook event. No row if it was recorded before.
-- @optional
INSERT INTO gateway_events (id, type) VALUES (:id, :type) ON CONFLICT DO NOTHING RETURNING id
