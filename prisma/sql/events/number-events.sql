-- Assigns a sequence to a batch of the committed events that have none. Returns the last sequence of the
-- log, the number of events, and whether numbered events lack their deliveries.
-- @one
SELECT last AS "last!", numbered AS "numbered!", lacks_deliveries() AS "undelivered!"
FROM number_events(:limit)
