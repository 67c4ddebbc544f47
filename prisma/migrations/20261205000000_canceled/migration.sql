-- One spelling: `canceled`, as orders and subscriptions have it. Stored events follow. The order of their
-- keys stays the same.
ALTER TYPE "MessageStatus" RENAME VALUE 'cancelled' TO 'canceled';

UPDATE events SET type = 'chat.canceled',
  data = json_build_object(
    'object', (
      SELECT json_object_agg(key, CASE WHEN key = 'status' THEN '"canceled"' ELSE value END)
      FROM json_each(data -> 'object')),
    'previous_attributes', data -> 'previous_attributes')
WHERE type = 'chat.cancelled';

UPDATE webhook_endpoints SET event_types = array_replace(event_types, 'chat.cancelled', 'chat.canceled')
WHERE 'chat.cancelled' = ANY (event_types);
