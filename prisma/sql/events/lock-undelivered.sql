-- The numbered events whose deliveries are not added yet: those after a sequence, through another. One caller
-- at a time, until the transaction ends.
-- @one
SELECT delivered_sequence AS after, least(last_sequence, delivered_sequence + :limit) AS "through!"
FROM event_log FOR UPDATE
