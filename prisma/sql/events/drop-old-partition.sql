-- Drops the oldest month of events or deliveries that ended more than :days days ago. Returns its name.
-- @one
SELECT drop_old_partition(:days) AS "name?"
