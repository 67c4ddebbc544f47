-- Assigns a sequence to a batch of the committed events that have none. Returns the last sequence of the
-- log and the number of events.
-- @one
SELECT last AS "last!", numbered AS "numbered!" FROM number_events(:limit)
