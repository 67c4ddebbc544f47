-- Inserts an event with a delivery to one endpoint.
-- @one
WITH e AS ({insert-event}), recipients AS (
  SELECT :endpoint_id::text AS id, false AS failing
)
{add-deliveries}
