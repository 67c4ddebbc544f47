-- Deletes at most :limit deliveries of the events, in the order of the list: the deliveries of an event are
-- deleted before those of the next one. `reached` is the place in the list, from 1, of the last event from
-- which a delivery was deleted; it may have more.
-- @one
WITH next AS (
  SELECT d.id, e.place
  FROM unnest(:event_ids::text[]) WITH ORDINALITY e (id, place)
    CROSS JOIN LATERAL (SELECT id FROM webhook_deliveries WHERE event_id = e.id LIMIT :limit) d
  LIMIT :limit
), deleted AS (DELETE FROM webhook_deliveries WHERE id = ANY(ARRAY(SELECT id FROM next)))
SELECT count(*)::int AS n, max(place)::int AS reached FROM next
