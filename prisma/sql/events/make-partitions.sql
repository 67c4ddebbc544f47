-- Makes the next months of events and deliveries. Returns the number of partitions.
-- @one
SELECT make_partitions() AS "made!"
