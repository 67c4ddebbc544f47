-- Whether an event or a delivery is in no month.
-- @one
SELECT default_partitions_have_rows() AS "filled!"
