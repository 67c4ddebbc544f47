-- Deletes a batch of the deliveries of events. Event by event, so that the first events have no deliveries
-- left while the last event may still have some. `reached` is the position of the last event from which a
-- delivery was deleted.
-- @one
WITH next AS (
  SELECT d.id, e.position FROM unnest(:event_ids::text[]) WITH ORDINALITY e (id, position)
  CROSS JOIN LATERAL (SELECT id FROM webhook_deliveries WHERE event_id = e.id LIMIT :limit) d LIMIT :limit
), deleted AS (DELETE FROM webhook_deliveries WHERE id = ANY(ARRAY(SELECT id FROM next)))
SELECT count(*)::int AS n, max(position)::int AS reached FROM next
