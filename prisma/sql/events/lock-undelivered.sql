-- Takes the numbered events whose deliveries are not added yet: those after a sequence, through another. One
-- caller at a time.
-- @one
WITH log AS (SELECT delivered_sequence, last_sequence FROM event_log FOR UPDATE)
UPDATE event_log l SET delivered_sequence = least(log.last_sequence, log.delivered_sequence + :limit) FROM log
RETURNING log.delivered_sequence AS after, l.delivered_sequence AS through
